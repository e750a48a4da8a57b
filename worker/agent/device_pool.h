// One worker process per device: what `fsr-worker --devices …` starts and keeps up.
#pragma once

#include <signal.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fsr {

inline constexpr int kPoolDevicesMax = 64;

// "cuda:all" becomes cuda:0, cuda:1, …; "cuda:0,sim:h200" its parts. INVALID_ARGUMENT for an empty or doubled entry,
// UNAVAILABLE if GPUs are asked for and there is none.
absl::StatusOr<std::vector<std::string>> DevicesOf(const std::string& list);

// Runs `program` with `arguments`, --device and --id (`id`-DEVICE) once for each device, starts a worker again that
// ended by itself, and ends all of them when one of `signals` (blocked in every thread) comes. Returns then.
absl::Status RunDevicePool(const std::string& program, const std::vector<std::string>& arguments, const std::string& id,
                           const std::vector<std::string>& devices, const sigset_t& signals);

}  // namespace fsr
