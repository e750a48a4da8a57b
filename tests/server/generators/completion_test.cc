#include "server/generators/completion.h"

#include <catch2/catch.hpp>

#include "common/launch_plan.h"
#include "common/random.h"
#include "common/utf8.h"
#include "server/generators/generator.h"

namespace fsr {
namespace {

using Catch::Contains;

std::string CodeIn(const std::string& answer) {
  const auto found = FindCode(answer);
  INFO((std::holds_alternative<AnswerWithoutCode>(found) ? std::get<AnswerWithoutCode>(found).diagnosis : ""));
  REQUIRE(std::holds_alternative<std::string>(found));
  return std::get<std::string>(found);
}

std::string RefusalOf(const std::string& answer) {
  const auto found = FindCode(answer);
  REQUIRE(std::holds_alternative<AnswerWithoutCode>(found));
  return std::get<AnswerWithoutCode>(found).diagnosis;
}

TEST_CASE("the code is the fenced block, under any of the tags that models use") {
  for (const char* tag : {"cuda", "cu", "cpp", "c++", "CUDA", "c", "", "cuda title=a.cu", "cpp{.numberLines}"}) {
    CHECK(CodeIn(std::string("I use tiles.\n\n```") + tag + "\n__global__ void f() {}\n```\nDone.") ==
          "__global__ void f() {}\n");
  }
}

TEST_CASE("of several blocks the last with a kernel counts, whatever stands around it") {
  CHECK(CodeIn("```cuda\n__global__ void first() {}\n```\nBetter:\n```cpp\n__global__ void second() {}\n```\n"
               "Run it with:\n```bash\n./a.out # __global__\n```\nUses:\n```cpp\nfloat4 v;\n```\n") ==
        "__global__ void second() {}\n");
}

TEST_CASE("a block that calls itself CUDA counts even without a kernel: the compiler says what is missing") {
  CHECK(CodeIn("```cuda\nint x;\n```") == "int x;\n");
}

TEST_CASE("fences inside a block are part of it if they are shorter or of another kind") {
  CHECK(CodeIn("````cuda\n// ```\n__global__ void f() {}\n// ~~~\n````") == "// ```\n__global__ void f() {}\n// ~~~\n");
  CHECK(CodeIn("~~~cuda\n```\n__global__ void f() {}\n~~~") == "```\n__global__ void f() {}\n");
}

TEST_CASE("a block that is cut off goes to the end; Windows line ends are taken away") {
  CHECK(CodeIn("Here:\r\n```cuda\r\n__global__ void f() {\r\n") == "__global__ void f() {\n");
}

TEST_CASE("a whole file without a fence is code, prose is not") {
  CHECK(CodeIn("\n// fsr: launch f grid=(1) block=(1)\n__global__ void f() {}") ==
        "// fsr: launch f grid=(1) block=(1)\n__global__ void f() {}\n");
  CHECK(CodeIn("#include <cuda_fp16.h>\n__global__ void f() {}\n") ==
        "#include <cuda_fp16.h>\n__global__ void f() {}\n");
  CHECK_THAT(RefusalOf("You could write a __global__ function."), Contains("no fenced block") && Contains("```cuda"));
}

TEST_CASE("an answer without code says how to answer") {
  CHECK_THAT(RefusalOf(""), Contains("empty") && Contains("```cuda"));
  CHECK_THAT(RefusalOf(" \n\t"), Contains("empty"));
  CHECK_THAT(RefusalOf("```python\nprint()\n```\n```\nplain\n```"), Contains("None of the answer's 2 fenced blocks"));
}

TEST_CASE("sizes are limited, exactly at the limit") {
  const std::string head = "```cuda\n__global__ void f() {}\n", tail = "\n```";
  const std::string code_head = "__global__ void f() {}\n";
  CHECK(CodeIn(head + std::string(kSourceBytesMax - code_head.size() - 1, ' ') + tail).size() == kSourceBytesMax);
  CHECK_THAT(RefusalOf(head + std::string(kSourceBytesMax - code_head.size(), ' ') + tail), Contains("at most 524288"));
  CHECK(CodeIn(std::string(kCompletionBytesMax - 1 - head.size() - tail.size(), 'x') + "\n" + head + "```").size() > 0);
  CHECK_THAT(RefusalOf(std::string(kCompletionBytesMax, 'x')), Contains("cut off"));
}

TEST_CASE("what is put into a block is found again, whatever it holds") {
  SplitMix64 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string source = "__global__";
    const char* const kParts[] = {"`", "```", "````", "~~~", "\n", " ", "cuda", "x", "```cuda\n", "\n```\n"};
    for (uint64_t n = random.Below(12); n > 0; --n) source += kParts[random.Below(std::size(kParts))];
    source += "\n";
    INFO(source);
    CHECK(CodeIn("Words.\n" + FencedBlock(source, "cuda") + "\n") == source);
  }
}

TEST_CASE("any bytes are an answer, with code or without") {
  SplitMix64 random(11);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (uint64_t n = random.Below(200); n > 0; --n) {
      bytes.push_back(random.Below(3) == 0 ? "`~\n \r"[random.Below(5)] : static_cast<char>(random.Below(256)));
    }
    const auto found = FindCode(bytes);
    if (const auto* refused = std::get_if<AnswerWithoutCode>(&found)) CHECK(!refused->diagnosis.empty());
  }
}

TEST_CASE("what is not UTF-8 is replaced, the rest stays") {
  CHECK(ToUtf8("caf\xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80") == "caf\xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80");
  const std::string kReplacement = "\xEF\xBF\xBD";
  CHECK(ToUtf8("a\xFFz") == "a" + kReplacement + "z");
  CHECK(ToUtf8(std::string_view("a\0z", 3)) == "a" + kReplacement + "z");
  CHECK(ToUtf8("\xC0\xAF") == kReplacement + kReplacement);                     // overlong
  CHECK(ToUtf8("\xED\xA0\x80") == kReplacement + kReplacement + kReplacement);  // a surrogate
  CHECK(ToUtf8("\xF4\x90\x80\x80").size() == 12);                               // beyond U+10FFFF
  CHECK(ToUtf8("\xE2\x86") == kReplacement + kReplacement);                     // cut off
}

}  // namespace
}  // namespace fsr
