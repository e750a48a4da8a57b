// Bytes from anywhere never crash the parsers, and their messages are always fit for a protobuf string.
#include <catch2/catch.hpp>

#include "common/clock.h"
#include "common/launch_plan.h"
#include "common/quote.h"
#include "common/random.h"
#include "common/source_scan.h"
#include "common/status.h"
#include "common/task_loader.h"
#include "tests/common/task_fixture.h"

namespace fsr {
namespace {

constexpr char kSeedSource[] = R"x(// fsr: tune TILE = 32, 16, 64
// fsr: scratch partial f32[ceil_div(n, 256)]
// fsr: fill y 0
// fsr: tensor_map t = x dims=(n) box=(64) swizzle=128B
// fsr: option --use_fast_math
// fsr: launch k<256, (1 > 2)> grid=(ceil_div(n,TILE), 2) block=(TILE, 8) shared=TILE*4 args=(partial, t, n / 2) cluster=(2)
#define F(x) R"a(raw)a" /* c */ 'c' 1'000e+5
)x";

std::string RandomBytes(SplitMix64& random) {
  std::string bytes(random.Below(200), '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

// Characters that mean something to the parsers are likelier to reach their depths than arbitrary ones.
std::string RandomSyntax(SplitMix64& random) {
  static constexpr std::string_view kPieces[] = {
      "// fsr: ", "tune ", "launch ", "fill ",   "scratch ",  "tensor_map ", "option ", "k ", "n",   "x",
      "y ",       "grid=", "block=",  "shared=", "args=",     "(",           ")",       "[",  "]",   "{",
      "}",        ",",     "=",       "<",       ">",         "\n",          "\r\n",    "\\", "\"",  "'",
      "R\"",      "/*",    "*/",      "0",       "7",         "+",           "-",       "/",  "%",   "min(",
      ": ",       "- ",    "  ",      "name",    "cases",     "sizes",       "&a ",     "*a", "|\n", "#",
      "!!str ",   "? ",    "f32",     "\xc3",    "parameters"};
  std::string text;
  for (uint64_t left = random.Below(60); left > 0; --left) text += kPieces[random.Below(std::size(kPieces))];
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
        text.insert(at, text.substr(random.Below(text.size()), 1 + random.Below(20)));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

void CheckMessage(const absl::Status& status) {
  if (!status.ok() && !absl::IsInvalidArgument(status)) FAIL(status.ToString());
  if (!IsUtf8(MessageOf(status))) FAIL("the message is not UTF-8");
}

void FeedAll(const std::string& text, const v1::Task& task) {
  const auto plan = ParseLaunchPlan(text, task);
  CheckMessage(plan.status());
  if (plan.ok()) CheckMessage(Resolve(*plan, task, task.cases(0)).status());
  CheckMessage(PinTunables(text, {{"TILE", 16}}).status());
  const auto expression = SizeExpression::Parse(text);
  CheckMessage(expression.status());
  if (expression.ok()) CheckMessage(expression->Evaluate({{"n", 3}}).status());
  const auto parsed = ParseTaskYaml(text);
  CheckMessage(parsed.status());
  if (parsed.ok()) CheckMessage(CheckTask(*parsed));
  NormalizedSource(text);
  SourceScanner scanner(text);
  size_t end = 0;
  for (SourceToken token; scanner.Next(&token); end += token.text.size()) {
    if (token.text.empty() || token.offset != end) FAIL("tokens do not cover: " << Quoted(text));
  }
  if (end != text.size()) FAIL("tokens do not cover: " << Quoted(text));
}

}  // namespace

TEST_CASE("no bytes crash the parsers") {
  SplitMix64 random(20260101);
  const v1::Task task = SmallTask();
  for (int i = 0; i < 3000; ++i) {
    FeedAll(RandomBytes(random), task);
    FeedAll(RandomSyntax(random), task);
    FeedAll("// fsr: " + RandomSyntax(random), task);
    FeedAll(Mutated(kSeedSource, random), task);
    FeedAll(Mutated(kSmallYaml, random), task);
  }
}

TEST_CASE("the largest sources take no more than a moment, whatever they consist of") {
  const v1::Task task = SmallTask();
  for (const char* piece : {"R\"", "/*", "\"", "'", "(", "// fsr: tune\n", "// fsr: x\\\n", "a ", "\\\n", "1'", "+"}) {
    std::string source;
    while (source.size() < 300'000) source += piece;
    const absl::Time start = SystemClock()->Now();
    CheckMessage(ParseLaunchPlan(source, task).status());
    NormalizedSource(source);
    CHECK(SystemClock()->Now() - start < absl::Seconds(20));  // quadratic ones take minutes
  }
}

}  // namespace fsr
