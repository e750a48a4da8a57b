// Random answers, the same ones each time: what fuzzing checks for an hour, for a moment.
#include <catch2/catch.hpp>

#include "common/clock.h"
#include "common/quote.h"
#include "common/random.h"
#include "server/answers/fenced_block.h"
#include "server/answers/limits.h"
#include "tests/fuzz/answer_properties.h"
#include "tests/server/answers/answer_fixture.h"

namespace fsr::testing {
namespace {

constexpr std::string_view kPieces[] = {"```",
                                        "```cuda\n",
                                        "```\n",
                                        "````",
                                        "~~~\n",
                                        "\n",
                                        "\r\n",
                                        " ",
                                        "\t",
                                        "> ",
                                        "<think>",
                                        "</think>",
                                        "<answer>",
                                        "</answer>",
                                        "<code>",
                                        "</code>",
                                        "<![CDATA[",
                                        "]]>",
                                        "{\"code\": \"",
                                        "\\n",
                                        "\"}",
                                        "// fsr: launch f grid=(1) block=(1)\n",
                                        "__global__ void f() {}\n",
                                        "__global__",
                                        "{",
                                        "}",
                                        "(",
                                        ")",
                                        ";",
                                        "int main(",
                                        "f<<<1, 1>>>",
                                        "<<<<<<< SEARCH\n",
                                        "=======\n",
                                        ">>>>>>> REPLACE\n",
                                        "@@ -1,2 +1,2 @@\n",
                                        "--- a\n+++ b\n",
                                        "-",
                                        "+",
                                        "&lt;",
                                        "&amp;",
                                        "\xEF\xBB\xBF",
                                        "\xE2\x80\x8B",
                                        "\xC2\xA0",
                                        "\xFF",
                                        "/*",
                                        "*/",
                                        "//",
                                        "I can't",
                                        "```diff\n",
                                        "```json\n",
                                        "x"};

std::string RandomAnswer(SplitMix64& random) {
  std::string text;
  for (uint64_t left = random.Below(40); left > 0; --left) text += kPieces[random.Below(std::size(kPieces))];
  return text;
}

std::string Mutated(std::string text, SplitMix64& random) {
  for (uint64_t left = 1 + random.Below(6); left > 0 && !text.empty(); --left) {
    const size_t at = random.Below(text.size());
    switch (random.Below(4)) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, 1 + random.Below(8));
        break;
      case 2:
        text.insert(at, kPieces[random.Below(std::size(kPieces))]);
        break;
      default:
        text.insert(at, text.substr(random.Below(text.size()), 1 + random.Below(30)));
    }
  }
  return text;
}

void Check(const std::string& answer, const std::string& shown) {
  const std::string broken = BrokenProperty(answer, shown);
  if (!broken.empty()) FAIL(broken << ": " << Quoted(answer) << " shown " << Quoted(shown));
}

}  // namespace

TEST_CASE("whatever an answer consists of, what is said of reading answers holds") {
  SplitMix64 random(20261201);
  const std::string edit = "<<<<<<< SEARCH\n}\n=======\n  x;\n}\n>>>>>>> REPLACE\n";
  const std::string diff = "```diff\n@@ -1,2 +1,2 @@\n // fsr: launch f grid=(1) block=(32)\n-a\n+b\n```\n";
  for (int i = 0; i < 4000; ++i) {
    Check(RandomAnswer(random), kFile);
    Check(Mutated("Words.\n" + Fenced(kFile) + "More.\n" + Fenced(kOther), random), kFile);
    Check(Mutated("<think>" + edit + "</think>\n" + edit + diff, random), Mutated(kFile, random));
    Check(Fenced(RandomAnswer(random) + kFile), "");
  }
}

TEST_CASE("what is put into a block is found again, whatever it holds") {
  SplitMix64 random(7);
  constexpr std::string_view kParts[] = {"`",        "```",           "````",     "~~~",       "\n",
                                         " ",        "cuda",          "x",        "```cuda\n", "\n```\n",
                                         "</think>", "\n</answer>\n", "<think>\n"};
  const v1::Task task;
  for (int i = 0; i < 2000; ++i) {
    std::string source = kFile;
    for (uint64_t n = random.Below(12); n > 0; --n) source += kParts[random.Below(std::size(kParts))];
    source += "\n";
    INFO(source);
    const auto read = ReadAnswer("Words.\n" + FencedBlock(source, "cuda") + "\n", {task, ""});
    REQUIRE(std::holds_alternative<std::string>(read));
    CHECK(std::get<std::string>(read) == source);
  }
}

TEST_CASE("the longest answers are read in a moment, whatever repeats in them") {
  for (const std::string_view piece : kPieces) {
    std::string answer, shown;
    while (answer.size() + piece.size() < kCompletionBytesMax) answer += piece;
    while (shown.size() < 400'000) shown += piece;
    const absl::Time start = SystemClock()->Now();
    Check(answer, shown);
    INFO(Quoted(piece));
    CHECK(SystemClock()->Now() - start < absl::Seconds(20));  // quadratic ones take minutes
  }
}

}  // namespace fsr::testing
