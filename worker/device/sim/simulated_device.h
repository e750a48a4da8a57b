// A GPU that is simulated on the CPU (design: worker/device/sim). Results are those of the PTX ISA; times are
// estimates.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "worker/device/device.h"

namespace fsr::sim {

struct SimulatedDeviceOptions {
  Clock* clock = SystemClock();  // for time limits
  uint32_t thread_count = 0;     // that run blocks; 0: one for each processor
};

// `profile` is a name of profiles.h. INVALID_ARGUMENT names the known ones.
absl::StatusOr<std::unique_ptr<Device>> OpenSimulatedDevice(std::string_view profile,
                                                            const SimulatedDeviceOptions& options = {});

}  // namespace fsr::sim
