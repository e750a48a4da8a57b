// The cost model's estimates of a kernel and those that it is compared with.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "worker/meter/meter.h"

namespace fsr {

// One run each, on one set of fresh data, with cold caches, and judged like any run. An estimate has no noise: the
// interval of a ratio is the ratio. An estimate below the floor is noted among the hints, since the model may be wrong.
// INTERNAL if a reference fails or is wrong, or if the device gives no estimate. REQUIRES: a simulated device.
absl::StatusOr<MeterReport> MeasureSimulated(Device& device, const v1::Task& task, const LoadableKernel& candidate,
                                             const LoadableKernel& oracle,
                                             const std::vector<MeterReference>& references,
                                             const JudgeOptions& options);

}  // namespace fsr
