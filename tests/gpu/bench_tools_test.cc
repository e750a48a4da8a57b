// What gpu_bench computes from what it measured; needs no GPU.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/gpu/bench.h"
#include "tests/gpu/ulp.h"

namespace fsr {
namespace {

template <class T>
UlpDistance Distance(v1::ElementType type, const std::vector<T>& a, const std::vector<T>& b) {
  UlpDistance distance;
  distance.Add(type, std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
  return distance;
}

TEST_CASE("neighbouring floats are one ulp apart, across powers of two and across zero") {
  const float tiny = std::numeric_limits<float>::denorm_min();
  CHECK(Distance<float>(v1::F32, {1.0f}, {std::nextafter(1.0f, 2.0f)}).largest == 1);
  CHECK(Distance<float>(v1::F32, {2.0f}, {std::nextafter(2.0f, 0.0f)}).largest == 1);
  CHECK(Distance<float>(v1::F32, {-1.0f}, {std::nextafter(-1.0f, 0.0f)}).largest == 1);
  CHECK(Distance<float>(v1::F32, {tiny}, {-tiny}).largest == 2);
  CHECK(Distance<float>(v1::F32, {0.0f}, {-0.0f}).largest == 0);
  CHECK(Distance<double>(v1::F64, {1.0}, {std::nextafter(1.0, 2.0)}).largest == 1);
}

TEST_CASE("a NaN equals a NaN and nothing else; infinity is one step from the largest number") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  CHECK(Distance<float>(v1::F32, {nan}, {std::bit_cast<float>(0xffc00001u)}).largest == 0);
  CHECK(Distance<float>(v1::F32, {nan}, {1.0f}).largest == std::numeric_limits<uint64_t>::max());
  CHECK(Distance<float>(v1::F32, {infinity}, {std::numeric_limits<float>::max()}).largest == 1);
}

TEST_CASE("elements beyond two ulp are counted, and the largest distance is kept") {
  const UlpDistance distance = Distance<int32_t>(v1::I32, {5, 5, -5, 0}, {5, 7, 5, 3});
  CHECK(distance.largest == 10);
  CHECK(distance.beyond_two == 2);
  CHECK(Distance<uint8_t>(v1::U8, {255}, {0}).largest == 255);
  CHECK(Distance<int8_t>(v1::I8, {-1}, {0}).largest == 1);
}

TEST_CASE("rank correlation sees order only") {
  const std::vector<double> times = {1, 2, 3, 4};
  CHECK(RankCorrelation(times, std::vector<double>{10, 100, 1000, 1e9}) == Approx(1));
  CHECK(RankCorrelation(times, std::vector<double>{4, 3, 2, 1}) == Approx(-1));
  CHECK(RankCorrelation(times, std::vector<double>{7, 7, 7, 7}) == 0);
  // Ranks 0 2 1 3: 1 - 6 * (0 + 1 + 1 + 0) / (4 * (16 - 1)) = 0.8.
  CHECK(RankCorrelation(times, std::vector<double>{1, 3, 2, 4}) == Approx(0.8));
  // A tie at ranks 1 and 2 counts as 1.5 twice: covariance 4.5, variances 5 and 4.5.
  CHECK(RankCorrelation(times, std::vector<double>{1, 2, 2, 4}) == Approx(4.5 / std::sqrt(5 * 4.5)));
}

}  // namespace
}  // namespace fsr
