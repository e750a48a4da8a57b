// Which of two kernels is faster, from the ratio of their latencies and its confidence interval. Pure.
#pragma once

#include "fsr/v1/evaluation.pb.h"

namespace fsr {

// A difference below this, as a share, is no difference: it is not worth a change of incumbent.
inline constexpr double kVerdictMargin = 0.01;

// Of the other's latency to the candidate's: above 1 the candidate is faster.
struct LatencyRatio {
  double ratio = 0, low = 0, high = 0;
};

// FASTER or SLOWER if the whole interval lies beyond the margin, SAME if all of it lies within, else AMBIGUOUS; so is
// an interval that is none (NaN, not above 0, not around the ratio). A ratio and its inverse give opposite verdicts.
v1::Verdict VerdictOf(const LatencyRatio& measured);

}  // namespace fsr
