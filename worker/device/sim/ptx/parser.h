// Text of a PTX module into ptx::Module.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "worker/device/sim/ptx/module.h"

namespace fsr::sim::ptx {

// INVALID_ARGUMENT names the line and what was expected there.
absl::StatusOr<Module> ParseModule(std::string_view text);

}  // namespace fsr::sim::ptx
