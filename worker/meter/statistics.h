// Robust figures of noisy samples. Pure.
#pragma once

#include <span>
#include <vector>

#include "worker/meter/verdict.h"

namespace fsr {

// Linear interpolation between the two nearest order statistics (Hyndman and Fan's type 7). `share` in [0, 1].
// REQUIRES: samples not empty.
double Quantile(std::span<const double> samples, double share);

struct Spread {
  double p25 = 0, median = 0, p75 = 0;
  // The standard error of the median as a share of it: 1.2533 sigma / sqrt(n) for a normal distribution, with sigma
  // from the quartiles (IQR / 1.349), so that a few outliers do not count.
  double noise = 0;
};

// REQUIRES: samples not empty.
Spread SpreadOf(std::span<const double> samples);

// The chance that the interval of RatioOf does not hold the true median. Small, since verdicts are taken again and
// again while samples come in, and in every round of every job.
inline constexpr double kIntervalMissChance = 0.001;

// other[i] / candidate[i] were measured side by side. The ratio is the median of the pairs' ratios; the interval is
// that of the sign test on order statistics (no assumption on the distribution). With too few pairs for the chance
// above, the interval is the whole range, from 0 to infinity, which makes the verdict AMBIGUOUS. REQUIRES: equal,
// non-zero lengths.
LatencyRatio RatioOf(std::span<const double> candidate, std::span<const double> other);

// When to stop taking samples.
struct StoppingRule {
  int samples_min = 15;
  int samples_max = 2000;
  double noise_max = 0.005;  // 0.5 %
  double seconds_max = 1.0;  // of sampling
};

// True if there are enough samples: the noise criterion holds and every verdict is clear, or a limit is reached.
bool EnoughSamples(const StoppingRule& rule, std::span<const double> candidate,
                   const std::vector<std::vector<double>>& others, double seconds);

}  // namespace fsr
