// All outputs of a run against the oracle's.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "worker/judge/bench.h"

namespace fsr {

struct OutputCheck {
  std::vector<v1::Mismatch> mismatches;  // an entry a wrong output; empty: right
  double largest_absolute_error = 0;
};

// `before`: an earlier run's outputs in the same buffers with other data, or null. INTERNAL if nothing was compared.
absl::StatusOr<OutputCheck> CheckOutputs(const Bench& bench, const KernelRun& run,
                                         const std::vector<HostBuffer>& expected,
                                         const std::vector<HostBuffer>* before);

}  // namespace fsr
