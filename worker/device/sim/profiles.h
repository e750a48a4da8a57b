// The GPUs that can be simulated, as data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fsr/v1/evaluation.pb.h"

namespace fsr::sim {

std::vector<std::string> ProfileNames();  // "h200", "rtx3090ti", …
// kind "sim:h200"; the figures' sources stand in profiles.cc.
std::optional<v1::DeviceFacts> FindProfile(std::string_view name);

}  // namespace fsr::sim
