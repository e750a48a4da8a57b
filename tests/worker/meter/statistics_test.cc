#include "worker/meter/statistics.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "common/random.h"

namespace fsr {
namespace {

// Latencies round `center` with relative Gaussian noise, from the sum of twelve uniforms.
std::vector<double> Noisy(SplitMix64& random, double center, double noise, int count) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    double normal = -6;
    for (int k = 0; k < 12; ++k) normal += random.Uniform();
    samples.push_back(center * (1 + noise * normal));
  }
  return samples;
}

}  // namespace

TEST_CASE("quantiles interpolate between order statistics") {
  const std::vector<double> samples = {4, 1, 3, 2};
  CHECK(Quantile(samples, 0) == 1);
  CHECK(Quantile(samples, 1) == 4);
  CHECK(Quantile(samples, 0.5) == Approx(2.5));
  CHECK(Quantile(samples, 0.25) == Approx(1.75));
}

TEST_CASE("the noise of a median of normal samples shrinks with the root of their number") {
  SplitMix64 random(1);
  const double few = SpreadOf(Noisy(random, 100, 0.02, 100)).noise;
  const double many = SpreadOf(Noisy(random, 100, 0.02, 10'000)).noise;
  // 1.2533 * 0.02 / sqrt(n)
  CHECK(few == Approx(0.0025).epsilon(0.4));
  CHECK(many == Approx(0.00025).epsilon(0.1));
}

TEST_CASE("an outlier moves neither the median nor the noise") {
  std::vector<double> samples(101, 10.0);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] += 0.001 * static_cast<double>(i % 7);
  const Spread before = SpreadOf(samples);
  samples[50] = 1e6;
  CHECK(SpreadOf(samples).median == Approx(before.median).epsilon(1e-3));
  CHECK(SpreadOf(samples).noise == Approx(before.noise).epsilon(0.1));
}

TEST_CASE("too few pairs give no interval, so that no verdict is drawn from them") {
  const std::vector<double> fast(5, 1.0), slow(5, 2.0);
  const LatencyRatio ratio = RatioOf(fast, slow);
  CHECK(ratio.ratio == Approx(2));
  CHECK(ratio.low == 0);
  CHECK(std::isinf(ratio.high));
  CHECK(VerdictOf(ratio) == v1::AMBIGUOUS);
}

TEST_CASE("the smallest count of pairs that allows a verdict is eleven, by the sign test at 0.001") {
  // P(all n on one side) * 2 = 2^(1 - n) <= 0.001 from n = 11 on.
  CHECK(RatioOf(std::vector<double>(10, 1.0), std::vector<double>(10, 2.0)).low == 0);
  CHECK(RatioOf(std::vector<double>(11, 1.0), std::vector<double>(11, 2.0)).low == Approx(2));
}

TEST_CASE("the interval holds the true ratio far more often than its chance to miss") {
  SplitMix64 random(7);
  int missed = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const LatencyRatio ratio = RatioOf(Noisy(random, 10, 0.02, 41), Noisy(random, 13, 0.02, 41));
    if (ratio.low > 1.3 || ratio.high < 1.3) ++missed;
  }
  CHECK(missed <= 10);  // 2 expected
}

TEST_CASE("a kernel against itself is never called faster or slower") {
  SplitMix64 random(11);
  int wrong = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const v1::Verdict verdict = VerdictOf(RatioOf(Noisy(random, 10, 0.01, 60), Noisy(random, 10, 0.01, 60)));
    if (verdict == v1::FASTER || verdict == v1::SLOWER) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("sampling stops when quiet, goes on when noisy or undecided, and ends at its limits") {
  SplitMix64 random(3);
  const StoppingRule rule;
  const auto quiet = Noisy(random, 10, 0.001, 20);
  CHECK(EnoughSamples(rule, quiet, {}, 0.1));
  CHECK_FALSE(EnoughSamples(rule, std::span(quiet).first(10), {}, 0.1));
  CHECK_FALSE(EnoughSamples(rule, Noisy(random, 10, 0.2, 20), {}, 0.1));
  CHECK(EnoughSamples(rule, Noisy(random, 10, 0.2, 20), {}, 2.0));
  CHECK(EnoughSamples(rule, Noisy(random, 10, 0.2, rule.samples_max), {}, 0.1));
  // Both quiet, but 1 % apart: the interval lies across the margin.
  CHECK_FALSE(EnoughSamples(rule, Noisy(random, 10, 0.004, 20), {Noisy(random, 10.1, 0.004, 20)}, 0.1));
}

}  // namespace fsr
