// How long the device itself says that kernels ran, through CUPTI's activity records: a second opinion on the events'
// times.
#pragma once

#include <cstddef>
#include <functional>

#include "absl/status/statusor.h"

namespace fsr::cupti {

struct ActivityTime {
  double busy_us = 0;  // of all kernels and memsets, added up
  size_t kernel_count = 0;
  size_t memset_count = 0;
};

// Records what `run` does on the GPU; it must wait for its work. Recording is off again when this returns: one CUPTI
// client at a time, and what is timed later is not slowed down. UNAVAILABLE if there is no CUPTI, or if no kernel was
// recorded.
absl::StatusOr<ActivityTime> RecordActivity(const std::function<absl::Status()>& run);

}  // namespace fsr::cupti
