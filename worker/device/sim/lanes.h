// The registers of a warp: 32 lanes side by side, so that one instruction is one loop the compiler can vectorise.
#pragma once

#include <array>
#include <cstdint>

namespace fsr::sim {

inline constexpr int kWarpSize = 32;
using LaneMask = uint32_t;  // bit i: lane i takes part
inline constexpr LaneMask kFullMask = 0xffffffffu;

// One register of a warp. Narrower values stand in the low bits, zero-extended (signed ones too: an instruction knows
// its own type). Predicates are LaneMasks, not Lanes. A b128 register takes two Lanes, low half first.
struct alignas(32) Lanes {
  std::array<uint64_t, kWarpSize> lane;
};

}  // namespace fsr::sim
