#include "worker/meter/verdict.h"

#include <cmath>

namespace fsr {

v1::Verdict VerdictOf(const LatencyRatio& measured) {
  const bool valid = measured.low > 0 && measured.low <= measured.ratio && measured.ratio <= measured.high &&
                     std::isfinite(measured.high);
  if (!valid) return v1::AMBIGUOUS;
  constexpr double kAbove = 1 + kVerdictMargin, kBelow = 1 / kAbove;
  if (measured.low > kAbove) return v1::FASTER;
  if (measured.high < kBelow) return v1::SLOWER;
  return measured.low >= kBelow && measured.high <= kAbove ? v1::SAME : v1::AMBIGUOUS;
}

}  // namespace fsr
