#include "worker/judge/compare.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <ctime>
#include <limits>

#include "common/element_type.h"

namespace fsr {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

v1::Tolerance Within(double absolute, double relative) {
  v1::Tolerance tolerance;
  tolerance.set_absolute(absolute);
  tolerance.set_relative(relative);
  return tolerance;
}

std::vector<std::byte> Encode(v1::ElementType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * SizeOf(type));
  for (size_t i = 0; i < values.size(); ++i) StoreFromDouble(type, values[i], bytes.data() + i * SizeOf(type));
  return bytes;
}

BufferComparison Compare(v1::ElementType type, const std::vector<double>& got, const std::vector<double>& expected,
                         const v1::Tolerance& tolerance) {
  const auto got_bytes = Encode(type, got), expected_bytes = Encode(type, expected);
  return CompareBuffers({type, got_bytes, expected_bytes, nullptr}, tolerance);
}

bool Right(double got, double expected, const v1::Tolerance& tolerance = {}, v1::ElementType type = v1::F32) {
  return Compare(type, {got}, {expected}, tolerance).wrong.count() == 0;
}

TEST_CASE("an element is right up to the tolerance and wrong beyond it") {
  for (const v1::ElementType type : {v1::F32, v1::F64, v1::F16, v1::BF16}) {
    CAPTURE(NameOf(type));
    CHECK(Right(10.5, 10, Within(0.5, 0), type));
    CHECK_FALSE(Right(10.5, 10, Within(0.499, 0), type));
    CHECK(Right(-9, -10, Within(0, 0.1), type));
    CHECK_FALSE(Right(-9, -10, Within(0, 0.099), type));
    CHECK(Right(12, 10, Within(1, 0.1), type));
    CHECK_FALSE(Right(2, 1, Within(0.5, 0.4), type));  // relative to the expected value, not to what was got
    CHECK(Right(0, 0, {}, type));
  }
}

TEST_CASE("NaN is right only where the oracle has NaN") {
  for (const v1::Tolerance& tolerance : {Within(0, 0), Within(1e30, 1), Within(0, 1e30)}) {
    for (const v1::ElementType type : {v1::F32, v1::F64, v1::F16, v1::BF16}) {
      CAPTURE(NameOf(type));
      CHECK_FALSE(Right(kNan, 1, tolerance, type));
      CHECK_FALSE(Right(1, kNan, tolerance, type));
      CHECK_FALSE(Right(kNan, kInf, tolerance, type));
      CHECK_FALSE(Right(kInf, kNan, tolerance, type));
      CHECK(Right(kNan, kNan, tolerance, type));
    }
  }
}

TEST_CASE("infinity is right only where the oracle has the same one") {
  for (const v1::Tolerance& tolerance : {Within(0, 0), Within(1e30, 1), Within(0, 1e30)}) {
    for (const v1::ElementType type : {v1::F32, v1::F64, v1::F16, v1::BF16}) {
      CAPTURE(NameOf(type));
      CHECK_FALSE(Right(kInf, 1, tolerance, type));
      CHECK_FALSE(Right(1, kInf, tolerance, type));  // |got - inf| <= inf would let this pass
      CHECK_FALSE(Right(-kInf, kInf, tolerance, type));
      CHECK_FALSE(Right(kInf, -kInf, tolerance, type));
      CHECK(Right(kInf, kInf, tolerance, type));
      CHECK(Right(-kInf, -kInf, tolerance, type));
    }
  }
}

TEST_CASE("64-bit integers that differ in the last digit are told apart") {
  const auto compare = [](auto got, auto expected, v1::ElementType type, const v1::Tolerance& tolerance) {
    return CompareBuffers({type, std::as_bytes(std::span(&got, 1)), std::as_bytes(std::span(&expected, 1)), nullptr},
                          tolerance)
        .wrong.count();
  };
  const int64_t large = (int64_t{1} << 62) + 1;
  CHECK(compare(large, large, v1::I64, {}) == 0);
  CHECK(compare(large + 1, large, v1::I64, {}) == 1);
  CHECK(compare(large + 1, large, v1::I64, Within(1, 0)) == 0);
  CHECK(compare(large + 2, large, v1::I64, Within(1, 0)) == 1);
  const auto lowest = std::numeric_limits<int64_t>::min(), highest = std::numeric_limits<int64_t>::max();
  CHECK(compare(lowest, highest, v1::I64, Within(1e18, 0)) == 1);  // a difference of 2^64 - 1
  const auto top = std::numeric_limits<uint64_t>::max();
  CHECK(compare(top - 1, top, v1::U64, {}) == 1);
  CHECK(compare(uint64_t{0}, top, v1::U64, Within(1e19, 0)) == 1);
}

TEST_CASE("small integers are compared by value") {
  CHECK(Right(-128, -128, {}, v1::I8));
  CHECK_FALSE(Right(-128, 127, Within(254, 0), v1::I8));
  CHECK(Right(-128, 127, Within(255, 0), v1::I8));
  CHECK_FALSE(Right(3, 4, {}, v1::U16));
}

TEST_CASE("every element is compared, wherever the wrong one lies") {
  constexpr size_t kCount = 5000;
  for (const v1::ElementType type : {v1::F32, v1::F16, v1::I32}) {
    const std::vector<double> expected(kCount, 3);
    for (const size_t at : {size_t{0}, size_t{1}, size_t{1023}, size_t{1024}, size_t{4095}, kCount - 1}) {
      std::vector<double> got = expected;
      got[at] = 4;
      const BufferComparison comparison = Compare(type, got, expected, {});
      CHECK(comparison.compared_count == kCount);
      CHECK(comparison.wrong.count() == 1);
      CHECK(comparison.wrong.Contains(at));
      CHECK(comparison.worst_index == at);
      CHECK(comparison.largest_absolute_error == 1);
    }
  }
}

TEST_CASE("the worst is the largest error, and NaN is worse than any number") {
  const std::vector<double> expected{1, 1, 1, 1, kInf};
  CHECK(Compare(v1::F32, {2, 5, 3, 1, kInf}, expected, {}).worst_index == 1);
  CHECK(Compare(v1::F32, {2, 5, kNan, kNan, kInf}, expected, {}).worst_index == 2);
  CHECK(Compare(v1::F32, {2, 5, 1, kInf, kInf}, expected, {}).worst_index == 3);
  const BufferComparison comparison = Compare(v1::F32, {2, 5, kNan, kNan, 0}, expected, {});
  CHECK(comparison.nan_count == 2);
  CHECK(comparison.wrong.count() == 5);
  CHECK(comparison.largest_absolute_error == 4);  // where both are finite
}

TEST_CASE("the largest error of right elements is kept, too") {
  CHECK(Compare(v1::F64, {1, 2.25, 3}, {1, 2, 3}, Within(0.5, 0)).largest_absolute_error == 0.25);
}

TEST_CASE("elements that still hold the poison are counted as unwritten") {
  const Poison poison(v1::F32, PoisonKind::kInvalid, 4);
  auto got = Encode(v1::F32, {0, 0, 0, 0});
  poison.Fill(got);
  StoreFromDouble(v1::F32, 7, got.data());
  StoreFromDouble(v1::F32, kNan, got.data() + 8);  // a NaN that was computed
  const auto expected = Encode(v1::F32, {7, 7, 7, 7});
  const ComparedBuffers buffers{v1::F32, got, expected, &poison};
  const BufferComparison comparison = CompareBuffers(buffers, {});
  CHECK(comparison.wrong.count() == 3);
  CHECK(comparison.nan_count == 3);
  CHECK(comparison.unwritten_count == 2);

  const std::vector<int64_t> shape{2, 2};
  const v1::Mismatch mismatch = MismatchOf(comparison, buffers, "out", shape);
  REQUIRE(mismatch.first_size() == 3);
  CHECK(mismatch.first(0).index() == 1);
  CHECK(mismatch.first(0).position(0) == 0);
  CHECK(mismatch.first(0).position(1) == 1);
  CHECK(mismatch.first(0).unwritten());
  CHECK_FALSE(mismatch.first(1).unwritten());
  CHECK(mismatch.first(0).expected() == 7);
}

TEST_CASE("a report shows at most kMismatchFirstMax elements, the first ones in order") {
  const std::vector<double> got(100, 1), expected(100, 2);
  const auto got_bytes = Encode(v1::I32, got), expected_bytes = Encode(v1::I32, expected);
  const ComparedBuffers buffers{v1::I32, got_bytes, expected_bytes, nullptr};
  const std::vector<int64_t> shape{100};
  const v1::Mismatch mismatch = MismatchOf(CompareBuffers(buffers, {}), buffers, "out", shape);
  CHECK(mismatch.wrong_count() == 100);
  REQUIRE(mismatch.first_size() == kMismatchFirstMax);
  for (int i = 0; i < kMismatchFirstMax; ++i) CHECK(mismatch.first(i).index() == static_cast<uint64_t>(i));
}

TEST_CASE("an empty buffer has nothing wrong and nothing compared") {
  const BufferComparison comparison = Compare(v1::F32, {}, {}, {});
  CHECK(comparison.compared_count == 0);
  CHECK(comparison.wrong.count() == 0);
}

TEST_CASE("large outputs are compared fast", "[.][speed]") {
  constexpr size_t kCount = size_t{64} << 20;
  for (const v1::ElementType type : {v1::F32, v1::F16, v1::I32}) {
    std::vector<std::byte> got(kCount * SizeOf(type)), expected(got.size());
    for (const bool wrong : {false, true}) {
      if (wrong) std::fill(got.begin(), got.end(), std::byte{1});
      const std::clock_t start = std::clock();
      const BufferComparison comparison = CompareBuffers({type, got, expected, nullptr}, {});
      const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      WARN(NameOf(type) << " wrong " << comparison.wrong.count() << ": " << seconds << " s");
    }
  }
}

}  // namespace
}  // namespace fsr
