#include "common/size_expression.h"

#include <catch2/catch.hpp>
#include <limits>

#include "common/random.h"
#include "common/status.h"

namespace fsr {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t Value(std::string_view text, const SizeBindings& bindings = {}) {
  const auto expression = SizeExpression::Parse(text);
  REQUIRE(expression.ok());
  const auto value = expression->Evaluate(bindings);
  INFO(MessageOf(value.status()));
  REQUIRE(value.ok());
  return *value;
}

// The complaint of parsing or else of evaluating; empty if there is none.
std::string Complaint(std::string_view text, const SizeBindings& bindings = {}) {
  const auto expression = SizeExpression::Parse(text);
  if (!expression.ok()) {
    CHECK(absl::IsInvalidArgument(expression.status()));
    return MessageOf(expression.status());
  }
  const auto value = expression->Evaluate(bindings);
  CHECK((value.ok() || absl::IsInvalidArgument(value.status())));
  return MessageOf(value.status());
}

}  // namespace

TEST_CASE("expressions follow the usual precedence, from left to right") {
  CHECK(Value("2 + 3 * 4") == 14);
  CHECK(Value("(2 + 3) * 4") == 20);
  CHECK(Value("20 - 5 - 3") == 12);
  CHECK(Value("100 / 7 / 2") == 7);
  CHECK(Value("17 % 5 * 2") == 4);
  CHECK(Value("ceil_div(rows, TILE) * cols", {{"rows", 33}, {"TILE", 32}, {"cols", 10}}) == 20);
  CHECK(Value("min(a, max(b, 3))", {{"a", 9}, {"b", 2}}) == 3);
  CHECK(Value("  \t7\t ") == 7);
  CHECK(Value("min + 1", {{"min", 4}}) == 5);  // a name unless it is called
}

TEST_CASE("ceil_div rounds up for every combination of signs") {
  for (int64_t a = -9; a <= 9; ++a) {
    for (int64_t b = -4; b <= 4; ++b) {
      if (b == 0) continue;
      int64_t expected = -100;  // the least q with q >= a / b, found by search
      while (b > 0 ? expected * b < a : expected * b > a) ++expected;
      CHECK(Value("ceil_div(a, b)", {{"a", a}, {"b", b}}) == expected);
    }
  }
}

TEST_CASE("nothing wraps: every overflow is an error") {
  const SizeBindings edge = {{"least", kLeast}, {"most", kMost}, {"m", -1}, {"zero", 0}};
  for (const char* text : {"most + 1", "least - 1", "most * 2", "least * m", "least / m", "ceil_div(least, m)",
                           "zero - least", "3037000500 * 3037000500"}) {
    INFO(text);
    CHECK_THAT(Complaint(text, edge), Catch::Contains("does not fit in 64 bits"));
  }
  CHECK(Value("least % m", edge) == 0);
  CHECK(Value("most + 0 - most", edge) == 0);
  CHECK(Value("9223372036854775807") == kMost);
  CHECK_THAT(Complaint("9223372036854775808"), Catch::Contains("does not fit in 64 bits"));
}

TEST_CASE("division and remainder by zero are errors") {
  for (const char* text : {"1 / zero", "1 % zero", "ceil_div(1, zero)", "1 / (2 - 2)"}) {
    CHECK_THAT(Complaint(text, {{"zero", 0}}), Catch::Contains("by zero"));
  }
}

TEST_CASE("what is no expression names the column and what was expected there") {
  CHECK_THAT(Complaint("n +"), Catch::Contains("column 4") && Catch::Contains("it ends"));
  CHECK_THAT(Complaint("2 ** 3"), Catch::Contains("column 4"));
  CHECK_THAT(Complaint("256u"), Catch::Contains("column 4") && Catch::Contains("decimal"));
  CHECK_THAT(Complaint("n m"), Catch::Contains("column 3") && Catch::Contains("operator"));
  CHECK_THAT(Complaint("ceil_dvi(n, 2)"), Catch::Contains("did you mean ceil_div?"));
  CHECK_THAT(Complaint("min(n)"), Catch::Contains("two arguments"));
  CHECK_THAT(Complaint("max(1, 2, 3)"), Catch::Contains("two arguments"));
  for (const char* text :
       {"", " ", "()", "(1", "1)", "-1", "1.5", "n[0]", "a = b", "0x10", "+", "min(,)", "1,2", "n;", "\xff", "a\nb"}) {
    INFO(text);
    CHECK_FALSE(Complaint(text, {{"n", 1}, {"a", 1}, {"b", 1}}).empty());
  }
}

TEST_CASE("an unknown name is told with the known ones and the nearest") {
  const std::string complaint = Complaint("rws * 2", {{"rows", 3}, {"cols", 4}});
  CHECK_THAT(complaint, Catch::Contains("cols, rows") && Catch::Contains("did you mean rows?"));
}

TEST_CASE("length and depth have limits, and the limits themselves are allowed") {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '(') + "1" + std::string(static_cast<size_t>(depth), ')');
  };
  CHECK(Value(nested(kSizeExpressionDepthMax)) == 1);
  CHECK_THAT(Complaint(nested(kSizeExpressionDepthMax + 1)), Catch::Contains("nested"));
  const std::string longest(kSizeExpressionLengthMax - 1, ' ');
  CHECK(Value(longest + "1") == 1);
  CHECK_THAT(Complaint(longest + "11"), Catch::Contains("1024"));
  std::string chain = "1";
  while (chain.size() + 2 <= static_cast<size_t>(kSizeExpressionLengthMax)) chain += "+1";
  CHECK(Value(chain) == static_cast<int64_t>(chain.size() + 1) / 2);
}

TEST_CASE("Names lists each name once, and no function") {
  CHECK(SizeExpression::Parse("min(a, b) + a * ceil_div(c, 2)")->Names() == std::set<std::string>{"a", "b", "c"});
}

TEST_CASE("random sums and products agree with 128-bit arithmetic, or are refused exactly where that does not fit") {
  SplitMix64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto a = static_cast<int64_t>(random() >> random.Below(64)) * (random.Below(2) == 0 ? 1 : -1);
    const auto b = static_cast<int64_t>(random() >> random.Below(64)) * (random.Below(2) == 0 ? 1 : -1);
    const char* const texts[] = {"a + b", "a - b", "a * b"};
    const __int128 wide_a = a, wide_b = b;
    const __int128 expected[] = {wide_a + wide_b, wide_a - wide_b, wide_a * wide_b};
    const size_t which = random.Below(3);
    const auto value = SizeExpression::Parse(texts[which])->Evaluate({{"a", a}, {"b", b}});
    const bool fits = expected[which] >= kLeast && expected[which] <= kMost;
    if (value.ok() != fits) FAIL(texts[which] << " for " << a << " and " << b);
    if (fits && *value != static_cast<int64_t>(expected[which])) FAIL(texts[which] << " for " << a << " and " << b);
  }
}

}  // namespace fsr
