// What the instructions do that are not arithmetic. Each runs one step for the lanes in `active` (never none) of the
// warp's current path; false means that the kernel broke and the block holds the fault.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "worker/device/sim/block.h"
#include "worker/device/sim/program.h"
#include "worker/device/sim/warp.h"

namespace fsr::sim {

enum class AccessKind : uint8_t { kRead, kWrite, kAtomic };

// Where the lanes of an access meet the host's memory. Lanes that are not active have the values of one that is.
struct Located {
  std::array<uint64_t, kWarpSize> address;  // in the space that was found
  std::array<std::byte*, kWarpSize> host;
  Space space = Space::kGlobal;  // kGeneric: the lanes are in different spaces
};

// access.cc. Checks bounds and alignment of `bytes` bytes a lane.
bool Locate(Warp& warp, const Step& step, const MemoryOperand& where, uint32_t bytes, AccessKind kind, LaneMask active,
            Located& located);
// The two halves of Locate: where the lanes point, and what is there (`located.address` is given).
void ComputeAddresses(const Warp& warp, const MemoryOperand& where, LaneMask active, Located& located);
bool LocateAddresses(Warp& warp, const Step& step, Space space, uint32_t bytes, AccessKind kind, LaneMask active,
                     Located& located);
// Tells the cost model, if there is one.
void TellTally(Warp& warp, const Located& located, uint32_t bytes, AccessKind kind, LaneMask active);
bool RunLoad(Warp& warp, const Step& step, LaneMask active);
bool RunStore(Warp& warp, const Step& step, LaneMask active);
bool RunAtomic(Warp& warp, const Step& step, LaneMask active);
void RunIsSpace(Warp& warp, const Step& step, LaneMask active);

// copy_async.cc
bool RunCopyAsync(Warp& warp, const Step& step, LaneMask active);

// access_fault.cc: what is wrong with the access of the first lane in `active` that cannot be made. Always false.
bool FailAccess(Warp& warp, const Step& step, Space space, uint32_t bytes, AccessKind kind, LaneMask active,
                const std::array<uint64_t, kWarpSize>& address);

// exchange.cc. The lanes that this step must wait for, among those that have not exited; 0 if it can run.
LaneMask MissingLanes(const Warp& warp, const Frame& frame, const ExchangeStep& exchange, LaneMask active);
bool RunExchange(Warp& warp, const Step& step, LaneMask active);

// barrier.cc. The current path has exactly the lanes in `active`.
bool RunBarrier(Warp& warp, const Step& step);

// call.cc
bool RunCall(Warp& warp, const Step& step, LaneMask active);

// matrix.cc
bool RunMatrix(Warp& warp, const Step& step, LaneMask active);

// A mask as a loop: for (LaneMask rest = mask; rest != 0; rest &= rest - 1) with LowestLane(rest).
inline int LowestLane(LaneMask mask) { return __builtin_ctz(mask); }

}  // namespace fsr::sim
