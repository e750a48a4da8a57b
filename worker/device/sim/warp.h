// A warp as it runs: its lanes stand at one or more places of the program (paths), each in a call frame.
//
// Divergence without control-flow analysis: of several paths the one deepest in calls runs, and of those the one with
// the smallest step number, until it reaches another path's place and merges with it. Compilers lay code out so that
// this reconverges where the hardware does. A path that loops for long lets the others have a turn, so that a lane may
// wait for another lane of its own warp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "worker/device/sim/lanes.h"
#include "worker/device/sim/program.h"

namespace fsr::sim {

class Block;

// Backward branches that a path may take before others get a turn. One after a look at memory that others may change
// costs more: it is probably waiting.
inline constexpr uint32_t kPatience = 1 << 14;
inline constexpr uint32_t kPatienceOfWaiting = 1 << 8;

// One call of a function by some lanes. Registers of lanes that are not in the frame are unused.
struct Frame {
  const FunctionCode* function = nullptr;
  Frame* caller = nullptr;
  const CallStep* call = nullptr;  // of the caller, for the values returned
  uint32_t return_step = 0;
  uint32_t depth = 0;
  uint32_t local_begin = 0;  // of the function's local variables in the thread's local memory
  LaneMask live = 0;         // lanes that have not returned; the frame is free when there are none
  LaneMask carry = 0;
  std::vector<Lanes> registers;
  std::vector<LaneMask> predicates;
  std::vector<std::byte> parameters;  // by lane
};

enum class PathState : uint8_t {
  kReady,
  kWaitingForLanes,  // at a warp-wide operation or an aligned barrier that other lanes have not reached
  kAtBarrier,        // arrived at a barrier of the block
};

struct Path {
  LaneMask mask = 0;
  uint32_t step = 0;
  Frame* frame = nullptr;
  PathState state = PathState::kReady;
  bool yielded = false;           // lets others have a turn
  bool strong = false;            // touched memory that others may change since its last backward branch
  uint8_t barrier = 0;            // kAtBarrier
  uint32_t patience = kPatience;  // what is left of its turn
  uint32_t loop_line = 0;         // of its last backward branch: where it spins, if it does
};

// Writes of cp.async that nobody has waited for yet.
struct PendingCopy {
  std::byte* to = nullptr;
  uint32_t group = 0;
  uint8_t lane = 0;
  uint8_t bytes = 0;
  std::array<std::byte, 16> data{};
};

// What the longest warp of a block is chosen by.
struct WarpTotals {
  uint64_t instructions = 0, global_requests = 0, shared_requests = 0, barriers = 0;
};

enum class WarpProgress : uint8_t {
  kFinished,  // every lane has exited
  kBlocked,   // nothing can run before another warp does something
  kRan,       // its slice is over
  kSpun,      // every path that can run is going round in a loop
  kFault,
};

class Warp {
 public:
  // Ready to run the kernel from its first step, with the lanes that exist.
  void Reset(Block* owner, uint32_t warp_number, LaneMask lanes);

  // Runs at most about `steps` warp instructions.
  WarpProgress Run(uint32_t steps);

  // ---- For the operations ----
  const Lanes* Value(ValueRef ref) const { return bases_[ref.base] + ref.index; }
  Lanes* Target(ValueRef ref) { return frame->registers.data() + ref.index; }
  LaneMask Predicate(PredicateRef ref) const { return frame->predicates[ref.index] ^ ref.inverted; }
  void SetPredicate(uint16_t index, LaneMask lanes, LaneMask value) {
    LaneMask& predicate = frame->predicates[index];
    predicate = (predicate & ~lanes) | (value & lanes);
  }
  Path& path() { return paths[current]; }

  // Leaves `mask` in the current path and puts its other lanes into a new one at `step`.
  void Split(LaneMask mask, uint32_t step);
  void EnterFrame(const FunctionCode& function);
  void LeaveFrame(LaneMask lanes);  // `lanes` of the current path return
  void ExitLanes(LaneMask lanes);
  // The bytes of a lane's local memory.
  std::byte* LocalMemory(int lane);
  // kWaitForAll: those not yet committed, too.
  void FlushCopies(LaneMask lanes, uint32_t groups_left);

  Block* block = nullptr;
  Frame* frame = nullptr;  // of the path that runs
  uint32_t number = 0;     // in the block
  LaneMask alive = 0;      // lanes that have not exited
  LaneMask exists = 0;     // lanes of the block; fewer than 32 in a partial last warp
  uint32_t current = 0;
  uint32_t path_count = 0;
  std::array<Path, kWarpSize> paths{};
  std::vector<PendingCopy> pending_copies;
  std::array<uint32_t, kWarpSize> copy_groups{};
  uint64_t clock = 0;  // warp instructions, and what nanosleep added
  WarpTotals totals;

 private:
  enum class Choice : uint8_t { kPath, kNone, kAllYielded };
  Choice ChoosePath();
  void MergePaths();
  enum class Retry : uint8_t { kBlocked, kRunCurrent, kChooseAgain };
  Retry RetryWaiting();
  LaneMask SatisfiedLanes(const Path& waiting, const ExchangeStep& exchange) const;
  bool ReleaseWarpBarriers();
  bool RunPath(uint32_t& steps);  // until it stops, waits, or the steps are used up; false: fault
  enum class Flow : uint8_t { kNext, kChoose, kFault };
  Flow RunControl(const Step& step, LaneMask active);
  Flow Branch(const Step& step, LaneMask active);
  Flow BranchIndexed(const Step& step, LaneMask active);
  Flow Exchange(const Step& step, LaneMask active);
  void RunSimple(const Step& step, LaneMask active);
  void RunAlu(const AluStep& alu, LaneMask active);
  bool JumpTo(uint32_t target, uint32_t from);
  void RemovePath(uint32_t which);
  Frame* NewFrame(const FunctionCode& function);
  void Activate();

  std::array<const Lanes*, 3> bases_{};
  uint32_t stop_step_ = 0;                      // where another path stands
  std::vector<std::unique_ptr<Frame>> frames_;  // all, in use or free
  std::vector<Lanes> specials_;
  std::vector<std::byte> local_;
};

}  // namespace fsr::sim
