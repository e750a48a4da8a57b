#include "worker/meter/verdict.h"

#include <catch2/catch.hpp>
#include <limits>

#include "common/random.h"

namespace fsr {
namespace {

TEST_CASE("a verdict needs the whole interval beyond the margin") {
  CHECK(VerdictOf({1.5, 1.4, 1.6}) == v1::FASTER);
  CHECK(VerdictOf({1.5, 1.011, 2.5}) == v1::FASTER);
  CHECK(VerdictOf({1.05, 1.009, 1.1}) == v1::AMBIGUOUS);
  CHECK(VerdictOf({0.5, 0.4, 0.6}) == v1::SLOWER);
  CHECK(VerdictOf({0.98, 0.9, 0.995}) == v1::AMBIGUOUS);
  CHECK(VerdictOf({1, 0.995, 1.005}) == v1::SAME);
  CHECK(VerdictOf({1, 0.9, 1.1}) == v1::AMBIGUOUS);
}

TEST_CASE("at the margin itself nothing is faster or slower") {
  constexpr double kEdge = 1 + kVerdictMargin;
  CHECK(VerdictOf({kEdge, kEdge, kEdge}) == v1::SAME);
  CHECK(VerdictOf({1 / kEdge, 1 / kEdge, 1 / kEdge}) == v1::SAME);
  CHECK(VerdictOf({kEdge + 1e-9, kEdge + 1e-9, kEdge + 1e-9}) == v1::FASTER);
}

TEST_CASE("what is no interval decides nothing") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  for (const LatencyRatio& ratio :
       {LatencyRatio{kNan, kNan, kNan}, LatencyRatio{2, kNan, 3}, LatencyRatio{2, 1.5, kInf}, LatencyRatio{2, 3, 1},
        LatencyRatio{0, 0, 0}, LatencyRatio{2, -1, 3}}) {
    CHECK(VerdictOf(ratio) == v1::AMBIGUOUS);
  }
}

TEST_CASE("turning the comparison round turns the verdict round") {
  SplitMix64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const double ratio = 0.9 + 0.2 * random.Uniform(), spread = 1 + 0.03 * random.Uniform();
    const v1::Verdict one = VerdictOf({ratio, ratio / spread, ratio * spread});
    const v1::Verdict other = VerdictOf({1 / ratio, 1 / (ratio * spread), spread / ratio});
    const v1::Verdict expected = one == v1::FASTER ? v1::SLOWER : one == v1::SLOWER ? v1::FASTER : one;
    REQUIRE(other == expected);
  }
}

}  // namespace
}  // namespace fsr
