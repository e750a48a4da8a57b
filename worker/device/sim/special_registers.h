// The special registers that hold the same value for as long as a block runs: %tid, %ctaid, %laneid, … Clocks are not
// among them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "worker/device/sim/lanes.h"

namespace fsr::sim {

enum class SpecialRegister : uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNwarpId,
  kSmId,
  kNsmId,
  kLaneMaskEq,
  kLaneMaskLe,
  kLaneMaskLt,
  kLaneMaskGe,
  kLaneMaskGt,
  kDynamicSharedBytes,
  kTotalSharedBytes,
  kGridWorkspaceHigh,
  kGridWorkspaceLow,  // %envreg1, %envreg2: where a cooperative launch synchronises
  kZero,
  kOne,  // what a cluster of one block and a plain launch see
};

// Null if the name is not one of these ("%tid.x").
std::optional<SpecialRegister> FindSpecialRegister(std::string_view name);

// What the registers show.
struct SpecialContext {
  std::array<uint32_t, 3> grid{}, block{}, block_index{};
  uint32_t warp_index = 0;
  uint32_t warp_count = 0;
  uint32_t sm = 0;
  uint32_t sm_count = 1;
  uint32_t dynamic_shared_bytes = 0;
  uint32_t total_shared_bytes = 0;
  uint64_t grid_workspace = 0;
};

Lanes SpecialRegisterLanes(SpecialRegister which, const SpecialContext& context);

}  // namespace fsr::sim
