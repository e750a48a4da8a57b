// Shapes of answers that hold a candidate, each with the candidate.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "absl/strings/str_replace.h"
#include "common/launch_plan.h"
#include "server/answers/limits.h"
#include "tests/server/answers/answer_fixture.h"

namespace fsr::testing {
namespace {

struct Shape {
  const char* name;
  std::string answer;
  std::string source;
};

std::string Replaced(const std::string& text, const std::string& what, const std::string& by) {
  return absl::StrReplaceAll(text, {{what, by}});
}

std::string Indented(const std::string& text, const std::string& by) { return by + Replaced(text, "\n", "\n" + by); }

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

std::string JsonText(const std::string& text) {
  return fmt::format("\"{}\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}));
}

void CheckAll(const std::vector<Shape>& shapes, const v1::Task& task = v1::Task(), const std::string& shown = "") {
  for (const Shape& shape : shapes) {
    INFO(shape.name << "\n" << shape.answer);
    const auto read = ReadAnswer(shape.answer, {task, shown});
    if (const auto* unreadable = std::get_if<UnreadableAnswer>(&read)) {
      FAIL_CHECK(unreadable->signature << ": " << unreadable->diagnosis);
      continue;
    }
    CHECK(std::get<std::string>(read) == shape.source);
  }
}

const std::string kPart = "__device__ float one() { return 1; }\n";

TEST_CASE("fenced code is found under whatever fence and tag") {
  for (const char* tag :
       {"cuda", "cu", "cpp", "c++", "CUDA", "c", "", "cuda title=a.cu", "cpp{.numberLines}", "{.cuda .numberLines}",
        "language-cpp", "kernel.cu", "src/kernel.cu", "cuda:kernel.cu", "text", "cuda-cpp", "CUDA C++"}) {
    CheckAll({{tag, std::string("I use tiles.\n\n```") + tag + "\n" + kFile + "```\nDone.", kFile}});
  }
  CheckAll({
      {"tildes", "~~~cuda\n" + kFile + "~~~\n", kFile},
      {"a long fence", "``````cuda\n" + kFile + "``````", kFile},
      {"closed by a longer fence", "```cuda\n" + kFile + "`````", kFile},
      {"a shorter fence within", "````cuda\n// ```\n" + kFile + "````", "// ```\n" + kFile},
      {"another kind of fence within", "~~~cuda\n/*\n```\n*/\n" + kFile + "~~~", "/*\n```\n*/\n" + kFile},
      {"indented in a list", "1. This:\n\n" + Indented(Fenced(kFile), "   "), kFile},
      {"deeply indented", "- This:\n\n" + Indented(Fenced(kFile), "      "), kFile},
      {"indented by tabs", Indented(Fenced(kFile), "\t"), kFile},
      {"quoted", "As said:\n\n" + Indented(Fenced(kFile), "> "), kFile},
      {"never closed, but complete", "Here:\n```cuda\n" + kFile, kFile},
      {"closed behind the last brace", "```cuda\n" + kFile.substr(0, kFile.size() - 1) + "```", kFile},
      {"opened behind a sentence", "Here is the kernel: ```cuda\n" + kFile + "```", kFile},
      {"code on the fence's line", "```cuda " + kFile + "```", kFile},
      {"blocks in a block of Markdown", "```markdown\n# Answer\n" + Fenced(kFile) + "```\n", kFile},
      {"Windows line ends", Replaced("Here:\n" + Fenced(kFile), "\n", "\r\n"), kFile},
      {"old Mac line ends", Replaced("Here:\n" + Fenced(kFile), "\n", "\r"), kFile},
      {"space behind the fences", "```cuda  \n" + kFile + "```  \n", kFile},
  });
}

TEST_CASE("of several blocks the last whole file counts, whatever stands around it") {
  CheckAll({
      {"two versions", Fenced(kOther) + "Better:\n" + Fenced(kFile), kFile},
      {"commands and snippets around it",
       "```bash\nnvcc a.cu # __global__\n```\n" + Fenced(kFile) + "It uses:\n```cpp\nfloat4 v;\n```\n", kFile},
      {"a later kernel without a launch line",
       Fenced(kFile) + "The old one was:\n```cuda\n__global__ void old(float* y) {}\n```\n", kFile},
      {"a later file that lacks the launched kernel",
       Fenced(kFile) + "```cuda\n// fsr: launch h grid=(1) block=(1)\n__global__ void other() {}\n```\n", kFile},
      {"a harness after it", Fenced(kFile) + "Test it:\n```cpp\nint main() { f<<<1, 32>>>(y, n); }\n```\n", kFile},
      {"a later version that was cut off", Fenced(kFile) + "Better:\n```cuda\n" + kOther.substr(0, 90), kFile},
      {"no whole file: the last with a launch line",
       "```cuda\n// fsr: launch a grid=(1) block=(1)\n__global__ void x() {}\n```\n```cuda\n__global__ void y() "
       "{}\n```\n",
       "// fsr: launch a grid=(1) block=(1)\n__global__ void x() {}\n"},
      {"a malformed launch line is the worker's to judge", Fenced("// fsr launch f grid=(1) block=(1)\n" + kKernel),
       "// fsr launch f grid=(1) block=(1)\n" + kKernel},
  });
}

TEST_CASE("blocks that only together are a file are joined in their order") {
  const std::string second = "// fsr: launch h grid=(1) block=(1)\n__global__ void h(float* y) { y[0] = one(); }\n";
  CheckAll({
      {"launch lines apart", "The launch:\n```\n" + kLaunch + "```\nThe kernel:\n" + Fenced(kKernel),
       kLaunch + kKernel},
      {"two kernels, one launch line each, are whole each: the last counts", Fenced(kFile) + Fenced(kOther), kOther},
      {"kernels in blocks of their own",
       Fenced("// fsr: launch f grid=(1) block=(32)\n// fsr: launch h grid=(1) block=(1)\n") + Fenced(kKernel) +
           Fenced("__global__ void h(float* y) { y[0] = 3; }\n"),
       "// fsr: launch f grid=(1) block=(32)\n// fsr: launch h grid=(1) block=(1)\n" + kKernel +
           "__global__ void h(float* y) { y[0] = 3; }\n"},
      {"a helper before the file is not needed by its shape", Fenced(kPart) + Fenced(second), second},
  });
  // Two versions of a kernel are no parts of a file.
  const auto twice = ReadAnswer(Fenced(kLaunch) + Fenced(kKernel) + Fenced(kKernel), {v1::Task(), ""});
  REQUIRE(std::holds_alternative<UnreadableAnswer>(twice));
  CHECK(std::get<UnreadableAnswer>(twice).signature == "answer_without_launch");
}

TEST_CASE("a file without a fence is code, without the sentences around it") {
  CheckAll({
      {"nothing else", kFile, kFile},
      {"blank lines around it", "\n\n" + kFile + "\n", kFile},
      {"begins with an include", "#include <cuda_fp16.h>\n" + kFile, "#include <cuda_fp16.h>\n" + kFile},
      {"begins with a comment", "/* tiles */\n" + kFile, "/* tiles */\n" + kFile},
      {"sentences around it", "I use one warp.\n\n" + kFile + "\nThis is right because it is short.\n", kFile},
      {"a byte order mark", "\xEF\xBB\xBF" + kFile, kFile},
  });
}

TEST_CASE("thinking is no part of an answer") {
  const std::string draft = "Maybe:\n" + Fenced(kOther) + "No, that is wrong.\n";
  CheckAll({
      {"before the answer", "<think>\n" + draft + "</think>\n" + Fenced(kFile), kFile},
      {"after the answer", Fenced(kFile) + "<think>" + draft + "</think>", kFile},
      {"other tags", "<thinking>\n" + draft + "</thinking>\n<reasoning>" + draft + "</reasoning>" + Fenced(kFile),
       kFile},
      {"upper case", "<THINK>" + draft + "</THINK>" + Fenced(kFile), kFile},
      {"opened by the chat template", draft + "</think>\n\n" + Fenced(kFile), kFile},
      {"an open fence in it", "<think>\n```cuda\n" + kOther + "</think>\n" + Fenced(kFile), kFile},
      {"empty", "<think></think>\n" + kFile, kFile},
      {"never closed, with a whole file in it", "<think>\n" + Fenced(kFile) + "and so on", kFile},
      {"twice", "<think>a</think>\n<think>\n" + draft + "</think>" + Fenced(kFile), kFile},
      {"a tag in the code is code", Fenced("// <think>\n" + kFile), "// <think>\n" + kFile},
  });
}

TEST_CASE("code wrapped into elements, JSON or escapes is unwrapped") {
  CheckAll({
      {"an element around a block", "<answer>\n" + Fenced(kFile) + "</answer>", kFile},
      {"an element on the fence's line", "<answer>```cuda\n" + kFile + "```</answer>", kFile},
      {"an element instead of a fence", "Here:\n<answer>\n" + kFile + "</answer>\nDone.", kFile},
      {"an element with attributes", "<file name=\"kernel.cu\">" + kFile + "</file>", kFile},
      {"an element closed behind the code", "<code>" + kFile.substr(0, kFile.size() - 1) + "</code>", kFile},
      {"elements in elements", "<response>\n<code>\n" + kFile + "</code>\n</response>", kFile},
      {"CDATA", "<code><![CDATA[\n" + kFile + "]]></code>", kFile},
      {"two elements", "<answer>" + kOther + "</answer>\n<answer>" + kFile + "</answer>", kFile},
      {"an element that is not closed", "<answer>\n" + kFile, kFile},
      {"escaped in a fence", Fenced(Escaped(kFile)), kFile},
      {"escaped in an element", "<answer>" + Escaped(kFile) + "</answer>", kFile},
      {"escaped without a fence", Escaped(kOther), kOther},
      {"JSON", "{\"change\": \"tiles\", \"code\": " + JsonText(kFile) + "}", kFile},
      {"JSON in a block", "```json\n{\"code\": " + JsonText(kFile) + "}\n```", kFile},
      {"a fence in JSON", "{\"answer\": " + JsonText("Here:\n" + Fenced(kFile)) + "}", kFile},
      {"a tool call",
       "{\"name\": \"submit\", \"arguments\": " + JsonText("{\"source\": " + JsonText(kFile) + "}") + "}", kFile},
      {"a list",
       "[{\"file\": \"a.cu\", \"content\": " + JsonText(kOther) + "}, {\"content\": " + JsonText(kFile) + "}]", kFile},
      {"zero-width characters", "\xE2\x80\x8B```cuda\n" + Replaced(kFile, "void ", "void\xE2\x80\x8B ") + "```", kFile},
      {"no-break spaces", Fenced(Replaced(kFile, "  ", "\xC2\xA0 ")), kFile},
  });
}

TEST_CASE("where the task fixes the launch, a launch line is not needed") {
  CheckAll(
      {
          {"no launch line", Fenced(kKernel), kKernel},
          {"the task's kernel, not the last one", Fenced(kKernel) + "Before:\n" + Fenced("__global__ void old() {}\n"),
           kKernel},
          {"joined by the task's launch", Fenced("#define ONE 1\n") + Fenced(kKernel), kKernel},
          {"with a launch line all the same", Fenced(kFile), kFile},
      },
      FixedTask());
}

TEST_CASE("edits are made to the file that the prompt showed") {
  const std::string changed = Replaced(kFile, "= 1;", "= 3;");
  const std::string old_line = "  if (threadIdx.x < n) y[threadIdx.x] = 1;\n";
  const std::string new_line = "  if (threadIdx.x < n) y[threadIdx.x] = 3;\n";
  const std::string block = "<<<<<<< SEARCH\n" + old_line + "=======\n" + new_line + ">>>>>>> REPLACE\n";
  const std::string wider = Replaced(changed, "block=(32)", "block=(64)");
  const std::string second =
      "<<<<<<< SEARCH\n" + kLaunch + "=======\n" + Replaced(kLaunch, "32", "64") + ">>>>>>> REPLACE\n";
  const std::string diff =
      "@@ -2,3 +2,3 @@\n __global__ void f(float* y, int n) {\n-" + old_line + "+" + new_line + " }\n";
  const std::string header = "--- a/kernel.cu\n+++ b/kernel.cu\n";
  CheckAll(
      {
          {"search and replace", "I change a value.\n\n" + block, changed},
          {"in a fence, with a file name", "kernel.cu\n" + Fenced(block), changed},
          {"several, in one block", Fenced(block + "\n" + second), wider},
          {"several, in blocks", Fenced(second) + "and\n" + Fenced(block), wider},
          {"other indentation", Fenced(Replaced(block, "  if", "\tif")), Replaced(changed, "  if", "\tif")},
          {"space lost at line ends", Replaced(block, "n) y", "n)  y"), Replaced(changed, "n) y", "n)  y")},
          {"lines taken out", "<<<<<<< SEARCH\n" + old_line + "=======\n>>>>>>> REPLACE\n",
           Replaced(kFile, old_line, "")},
          {"a unified diff", "```diff\n" + header + diff + "```\n", changed},
          {"a diff without a fence", "The change:\n\n" + header + diff, changed},
          {"wrong line numbers", "```diff\n" + Replaced(diff, "-2,3 +2,3", "-40,9 +41,9") + "```", changed},
          {"no line numbers", "```diff\n" + Replaced(diff, "@@ -2,3 +2,3 @@", "@@") + "```", changed},
          {"no hunk header", "```diff\n-" + old_line + "+" + new_line + "```", changed},
          {"context without its space",
           "```diff\n}\n```\n```diff\n@@ @@\n__global__ void f(float* y, int n) {\n-" + old_line + "+" + new_line +
               "}\n```",
           changed},
          {"a patch with its envelope",
           "*** Begin Patch\n*** Update File: kernel.cu\n" + Replaced(diff, "@@ -2,3 +2,3 @@", "@@") +
               "*** End Patch\n",
           changed},
          {"a diff from nothing is the whole file",
           "```diff\n--- /dev/null\n+++ b/kernel.cu\n@@ -0,0 +1,5 @@\n" +
               [] {
                 std::string marked = Indented(kOther, "+");
                 marked.pop_back();
                 return marked;
               }() +
               "```\n",
           kOther},
          {"a whole file beside the edits counts", Fenced(block) + "In full:\n" + Fenced(kOther), kOther},
      },
      v1::Task(), kFile);
}

TEST_CASE("an edit whose lines stand in several places goes where its diff says") {
  const std::string file =
      "// fsr: launch f grid=(1) block=(1)\n__global__ void f(int* y) {\n  ++*y;\n\n\n  ++*y;\n}\n";
  const std::string hunk = "```diff\n@@ -6,1 +6,1 @@\n-  ++*y;\n+  --*y;\n```\n";
  CheckAll({{"", hunk, "// fsr: launch f grid=(1) block=(1)\n__global__ void f(int* y) {\n  ++*y;\n\n\n  --*y;\n}\n"}},
           v1::Task(), file);
}

TEST_CASE("a candidate as large as allowed is taken") {
  const std::string filler(kSourceBytesMax - kFile.size() - 1, ' ');
  CheckAll({{"", Fenced(kFile + filler + "\n"), kFile + filler + "\n"}});
  const std::string prose(kCompletionBytesMax - 1 - Fenced(kFile).size() - 1, 'x');
  CheckAll({{"", prose + "\n" + Fenced(kFile), kFile}});
}

}  // namespace
}  // namespace fsr::testing
