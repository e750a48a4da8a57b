#include "worker/judge/pattern.h"

#include <catch2/catch.hpp>
#include <functional>
#include <limits>

#include "common/element_type.h"
#include "common/random.h"

namespace fsr {
namespace {

using Position = std::vector<uint64_t>;

// Where: the wrong elements are those that `is_wrong` says.
std::string Where(const std::vector<int64_t>& shape, const std::function<bool(const Position&)>& is_wrong) {
  uint64_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<uint64_t>(extent);
  WrongSet wrong;
  for (uint64_t i = 0; i < count; ++i) {
    if (is_wrong(PositionOf(i, shape))) wrong.Add(i, count);
  }
  return DescribeWhere(wrong, shape);
}

TEST_CASE("all wrong, or only one, is said so") {
  CHECK(Where({4, 5}, [](const Position&) { return true; }) == "every element");
  CHECK(Where({4, 5}, [](const Position& p) { return p == Position{2, 3}; }) == "a single element, at [2, 3]");
}

TEST_CASE("the last columns or rows are named, with the block edge that they lie beyond") {
  CHECK(Where({33, 65}, [](const Position& p) { return p[1] == 64; }) ==
        "only the last of 65 columns, beyond the last multiple of 64 (a block's edge)");
  CHECK(Where({33, 65}, [](const Position& p) { return p[1] >= 62; }) == "only the last 3 of 65 columns");
  CHECK(Where({100, 8}, [](const Position& p) { return p[0] >= 96; }) ==
        "only the last 4 of 100 rows, beyond the last multiple of 32 (a block's edge)");
  CHECK(Where({1000}, [](const Position& p) { return p[0] >= 768; }) ==
        "only the last 232 of 1000 elements, beyond the last multiple of 256 (a block's edge)");
  CHECK(Where({1000}, [](const Position& p) { return p[0] >= 512; }) ==
        "only the last 488 of 1000 elements, beyond the last multiple of 512 (a block's edge)");
  CHECK(Where({64, 100}, [](const Position& p) { return p[1] >= 32; }) ==
        "only the last 68 of 100 columns, from column 32 on, a multiple of 32");
}

TEST_CASE("the first, a single one in the middle, a range, and every k-th are named") {
  CHECK(Where({10, 7}, [](const Position& p) { return p[0] == 0; }) == "only the first of 10 rows");
  CHECK(Where({10, 7}, [](const Position& p) { return p[1] < 3; }) == "only the first 3 of 7 columns");
  CHECK(Where({10, 7}, [](const Position& p) { return p[0] == 5; }) == "only row 5 of 10");
  CHECK(Where({90, 7}, [](const Position& p) { return p[0] >= 20 && p[0] < 30; }) == "only rows 20 to 29 of 90");
  CHECK(Where({10, 13}, [](const Position& p) { return p[1] % 4 == 3; }) == "only columns with index % 4 == 3");
  CHECK(Where({1000}, [](const Position& p) { return p[0] % 32 == 31; }) == "only elements with index % 32 == 31");
}

TEST_CASE("both dimensions of a corner are named") {
  CHECK(Where({10, 7}, [](const Position& p) { return p[0] == 9 && p[1] < 2; }) ==
        "only the last of 10 rows and only the first 2 of 7 columns");
}

TEST_CASE("a claim about part of a region says how much of it") {
  CHECK(Where({10, 7}, [](const Position& p) { return p[0] == 5 && p[1] != 1; }) ==
        "only row 5 of 10 (6 of the 7 elements there)");
}

TEST_CASE("a range that breaks in the middle of a row is told in memory order") {
  // 33 * 65 = 2145 = 2048 + 97.
  CHECK(Where({33, 65}, [](const Position& p) { return p[0] * 65 + p[1] >= 2048; }) ==
        "only the last 97 of 2145 elements in memory order, beyond the last multiple of 2048 (a block's edge)");
  CHECK(Where({33, 65}, [](const Position& p) { return p[0] * 65 + p[1] >= 100 && p[0] * 65 + p[1] < 200; }) ==
        "one contiguous range in memory, elements 100 to 199 of 2145");
  CHECK(Where({9, 5}, [](const Position& p) { return (p[0] * 5 + p[1]) % 7 == 2; }) ==
        "only elements with index % 7 == 2 in memory order");
}

TEST_CASE("whole tiles are found") {
  CHECK(Where({128, 128}, [](const Position& p) { return (p[0] / 32 + p[1] / 32) % 3 == 1; }) ==
        "whole 32x32 tiles, 5 of 16, the first at row 0, column 32");
  CHECK(Where({100, 70}, [](const Position& p) { return (p[0] / 16 * 5 + p[1] / 16) % 7 == 6; }) ==
        "whole 16x16 tiles, 5 of 35, the first at row 16, column 16");
  CHECK(Where({5000}, [](const Position& p) { return p[0] / 256 == 3 || p[0] / 256 == 7 || p[0] / 256 == 8; }) ==
        "whole blocks of 256 elements, 3 of 20, the first from element 768 on");
  CHECK(Where({3, 64, 64}, [](const Position& p) {
          const Position tile{p[0], p[1] / 16, p[2] / 16};
          return tile == Position{0, 1, 1} || tile == Position{2, 2, 0} || tile == Position{2, 2, 3};
        }) == "whole 16x16 tiles, 3 of 48, the first at row 16, column 16 (rows counted over all matrices)");
}

TEST_CASE("ragged edges on both sides, and the sides of the diagonal, are found") {
  CHECK(Where({100, 70}, [](const Position& p) { return (p[0] >= 96 || p[1] >= 64) && (p[0] + p[1]) % 3 != 0; }) ==
        "only the last 4 of 100 rows and the last 6 of 70 columns, beyond the last multiples of 32 (a block's edges)");
  for (const auto& shape : {std::vector<int64_t>{50, 50}, {50, 30}, {30, 50}, {2, 50, 30}}) {
    const size_t r = shape.size() - 2, c = r + 1;
    CHECK(Where(shape, [&](const Position& p) { return p[r] < p[c]; }) == "only the elements above the diagonal");
    CHECK(Where(shape, [&](const Position& p) { return p[r] > p[c]; }) == "only the elements below the diagonal");
    CHECK(Where(shape, [&](const Position& p) { return p[r] == p[c]; }) == "only the diagonal");
    CHECK(Where(shape, [&](const Position& p) { return p[r] != p[c]; }) == "all elements but those on the diagonal");
  }
}

TEST_CASE("nothing is claimed of wrong elements that lie anywhere") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SplitMix64 random(seed);
    CHECK(Where({61, 47}, [&](const Position&) { return random.Below(10) == 0; }) == "");
  }
}

// What: got against expected, f32 unless said otherwise.
struct Values {
  v1::ElementType type = v1::F32;
  std::vector<int64_t> shape;
  std::vector<double> got, expected;
  v1::Tolerance tolerance;
};

std::vector<std::byte> Encode(v1::ElementType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * SizeOf(type));
  for (size_t i = 0; i < values.size(); ++i) StoreFromDouble(type, values[i], bytes.data() + i * SizeOf(type));
  return bytes;
}

std::string What(const Values& values, const std::map<std::string, std::vector<double>>& others = {}) {
  const auto got = Encode(values.type, values.got), expected = Encode(values.type, values.expected);
  std::vector<std::vector<std::byte>> held;
  std::vector<Suspect> suspects;
  for (const auto& [what, other] : others) held.push_back(Encode(values.type, other));
  size_t next = 0;
  for (const auto& [what, other] : others) suspects.push_back({what, held[next++]});
  const ComparedBuffers buffers{values.type, got, expected, nullptr};
  const BufferComparison comparison = CompareBuffers(buffers, values.tolerance);
  REQUIRE(comparison.wrong.count() > 0);
  return DescribeWhat(buffers, comparison, values.shape, values.tolerance, suspects);
}

// `count` values that are related in no way.
std::vector<double> Unrelated(size_t count, uint64_t seed, double low = -1, double high = 1) {
  SplitMix64 random(seed);
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(low + random.Uniform() * (high - low));
  return values;
}

Values Mapped(v1::ElementType type, std::vector<double> expected, const std::function<double(double)>& map,
              double tolerance = 0) {
  Values values{
      .type = type, .shape = {static_cast<int64_t>(expected.size())}, .got = {}, .expected = expected, .tolerance = {}};
  for (const double value : expected) values.got.push_back(map(value));
  values.tolerance.set_relative(tolerance);
  return values;
}

TEST_CASE("zeros, NaN and one value everywhere are named") {
  const auto expected = Unrelated(50, 1);
  CHECK(What(Mapped(v1::F32, expected, [](double) { return 0; })) == "all of them zero");
  CHECK(What(Mapped(v1::F32, expected, [](double) { return std::numeric_limits<double>::quiet_NaN(); })) ==
        "all of them NaN");
  CHECK(What(Mapped(v1::F32, expected, [](double) { return 3.5; })) == "all of them 3.5");
  CHECK(What(Mapped(v1::F32, expected, [](double) { return std::numeric_limits<double>::infinity(); })) ==
        "all of them inf");
}

TEST_CASE("a constant factor or offset is found") {
  const auto expected = Unrelated(50, 2, 10, 20);
  CHECK(What(Mapped(v1::F32, expected, [](double x) { return 2 * x; })) == "each is 2 times the expected value");
  CHECK(What(Mapped(v1::F32, expected, [](double x) { return -x; })) == "each is -1 times the expected value");
  CHECK(What(Mapped(v1::F32, expected, [](double x) { return x / 32; })) == "each is 1/32 of the expected value");
  CHECK(What(Mapped(
                 v1::F16, expected, [](double x) { return 0.7071 * x; }, 1e-3))
            .substr(0, 12) == "each is 0.70");
  CHECK(What(Mapped(v1::F32, expected, [](double x) { return x + 1; })) == "each is the expected value +1");
  CHECK(What(Mapped(v1::I32, {1, 20, 3, 44, 7}, [](double x) { return x - 5; })) == "each is the expected value -5");
}

TEST_CASE("errors just beyond the tolerance are a matter of precision") {
  SplitMix64 random(3);
  const Values values = Mapped(
      v1::F32, Unrelated(500, 4, 1, 2), [&](double x) { return x * (1 + 4e-6 * (random.Uniform() - 0.5)); }, 1e-6);
  CHECK_THAT(What(values), Catch::EndsWith("times the tolerance: a matter of precision"));
}

TEST_CASE("elements taken from the wrong place are found") {
  constexpr uint64_t kRows = 20, kColumns = 9;
  Values values{.shape = {kRows, kColumns}, .got = {}, .expected = Unrelated(kRows * kColumns, 5), .tolerance = {}};
  values.got = values.expected;
  for (uint64_t r = 0; r < kRows; ++r) {
    for (uint64_t c = 0; c < kColumns; ++c) values.got[r * kColumns + c] = values.expected[c * kRows + r];
  }
  CHECK(What(values) == "each holds what belongs at the transposed position");
  for (const int shift : {1, -3, 64}) {
    const auto count = static_cast<int>(values.expected.size());
    for (int i = 0; i < count; ++i) {
      values.got[static_cast<size_t>(i)] =
          i + shift < 0 || i + shift >= count ? 99 + i : values.expected[static_cast<size_t>(i + shift)];
    }
    CHECK(What(values) == (shift > 0 ? "each holds what belongs " + std::to_string(shift) + " elements further on"
                                     : "each holds what belongs " + std::to_string(-shift) + " elements before"));
  }
}

TEST_CASE("a copy of another buffer is found") {
  Values values{.shape = {40}, .got = Unrelated(40, 6), .expected = Unrelated(40, 7), .tolerance = {}};
  CHECK(What(values, {{"the input x", values.got}, {"the input w", Unrelated(40, 8)}}) ==
        "each holds the same element of the input x");
  CHECK(What(values, {{"the input w", Unrelated(40, 8)}}) == "");
}

TEST_CASE("nothing is claimed of values that are related in no way") {
  for (uint64_t seed = 10; seed < 30; ++seed) {
    CHECK(
        What({.shape = {8, 10}, .got = Unrelated(80, seed), .expected = Unrelated(80, seed + 100), .tolerance = {}}) ==
        "");
  }
}

}  // namespace
}  // namespace fsr
