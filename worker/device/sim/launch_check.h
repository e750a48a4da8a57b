// What the device refuses before a kernel starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/launch_plan.h"
#include "fsr/v1/evaluation.pb.h"
#include "worker/device/sim/events.h"
#include "worker/device/sim/program.h"

namespace fsr::sim {

// Registers a thread has where the compiler does not say.
inline constexpr uint32_t kRegistersPerThreadDefault = 32;

struct LaunchRefusal {
  v1::Outcome outcome = v1::LAUNCH_ERROR;
  std::string reason;  // without a full stop
};

LaunchShape ShapeOf(const Program& program, const ResolvedLaunch& launch, uint32_t registers_per_thread);

std::optional<LaunchRefusal> CheckLaunch(const v1::DeviceFacts& device, const Program& program,
                                         const ResolvedLaunch& launch, uint32_t registers_per_thread);

}  // namespace fsr::sim
