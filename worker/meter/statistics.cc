#include "worker/meter/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fsr {
namespace {

// The largest k with P(Binomial(n, 1/2) < k) <= chance / 2: the k-th smallest and k-th largest sample bound the median.
// 0 if there is none.
size_t SignTestRank(size_t n, double chance) {
  double term = std::pow(0.5, static_cast<double>(n)), below = 0;
  size_t k = 0;
  while (k < n / 2 && below + term <= chance / 2) {
    below += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

}  // namespace

double Quantile(std::span<const double> samples, double share) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

Spread SpreadOf(std::span<const double> samples) {
  Spread spread;
  spread.p25 = Quantile(samples, 0.25);
  spread.median = Quantile(samples, 0.5);
  spread.p75 = Quantile(samples, 0.75);
  const double sigma = (spread.p75 - spread.p25) / 1.349;
  if (spread.median > 0) spread.noise = 1.2533 * sigma / std::sqrt(static_cast<double>(samples.size())) / spread.median;
  return spread;
}

LatencyRatio RatioOf(std::span<const double> candidate, std::span<const double> other) {
  std::vector<double> ratios;
  for (size_t i = 0; i < candidate.size(); ++i) ratios.push_back(other[i] / candidate[i]);
  std::sort(ratios.begin(), ratios.end());
  LatencyRatio result;
  result.ratio = Quantile(ratios, 0.5);
  const size_t rank = SignTestRank(ratios.size(), kIntervalMissChance);
  result.low = rank == 0 ? 0 : ratios[rank - 1];
  result.high = rank == 0 ? std::numeric_limits<double>::infinity() : ratios[ratios.size() - rank];
  return result;
}

bool EnoughSamples(const StoppingRule& rule, std::span<const double> candidate,
                   const std::vector<std::vector<double>>& others, double seconds) {
  const int count = static_cast<int>(candidate.size());
  if (count >= rule.samples_max) return true;
  if (count < rule.samples_min) return false;
  if (seconds >= rule.seconds_max) return true;
  if (SpreadOf(candidate).noise > rule.noise_max) return false;
  return std::all_of(others.begin(), others.end(), [&](const std::vector<double>& other) {
    return VerdictOf(RatioOf(candidate, other)) != v1::AMBIGUOUS;
  });
}

}  // namespace fsr
