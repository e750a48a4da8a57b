// A block as it runs: its warps, shared memory and barriers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "worker/device/sim/fault.h"
#include "worker/device/sim/memory.h"
#include "worker/device/sim/program.h"
#include "worker/device/sim/tally.h"
#include "worker/device/sim/warp.h"

namespace fsr::sim {

// What all blocks of a launch have in common. Constant while they run.
struct LaunchContext {
  const Program* program = nullptr;
  const Memory* memory = nullptr;
  std::array<uint32_t, 3> grid{}, block{};
  uint32_t threads_per_block = 0;
  uint32_t warps_per_block = 0;
  uint32_t shared_bytes = 0;  // static and dynamic
  uint32_t dynamic_shared_bytes = 0;
  uint64_t grid_workspace = 0;
  uint32_t sm_count = 1;
};

// Named barriers 0 to 15, and one for barrier.cluster, whose clusters are single blocks here.
inline constexpr uint32_t kBarrierCount = 17;
inline constexpr uint32_t kClusterBarrier = 16;

struct Barrier {
  uint32_t arrived = 0;
  uint32_t expected = 0;  // 0: nobody has arrived
  uint32_t population = 0;
  bool all = true, any = false;  // of bar.red
};

enum class BlockProgress : uint8_t { kFinished, kRan, kStalled, kFault };

class Block {
 public:
  // `counts` (thread-level executions by step) and `tally` (null: no cost model) belong to the thread that runs it.
  void Start(const LaunchContext* context, uint64_t index, uint64_t* counts, Tally* tally);

  // Gives each warp a slice.
  BlockProgress RunRound();

  // What it did so far, if it has a tally.
  const BlockEvents& events() const { return events_; }
  const std::optional<FaultNote>& fault() const { return fault_; }
  // The fault of a block that does not come to an end: where it spins.
  FaultNote DescribeTimeout() const;
  std::array<uint32_t, 3> Position() const;  // blockIdx
  std::array<uint32_t, 3> ThreadPosition(const Warp& warp, int lane) const;

  // ---- For the operations ----
  // Ends the launch. Always false, so that an operation can return it.
  bool Fail(const Warp& warp, const Step& step, int lane, FaultNote note);
  // The current path arrives at `id`; it waits there unless `blocking` is false.
  bool ArriveAtBarrier(Warp& warp, const Step& step, const BarrierStep& barrier, uint32_t id, uint32_t expected);

  const LaunchContext* context = nullptr;
  uint64_t index = 0;
  uint64_t* counts = nullptr;
  Tally* tally = nullptr;
  std::vector<std::byte> shared;
  std::array<Barrier, kBarrierCount> barriers{};

 private:
  void ReleaseBarrier(uint32_t id);
  FaultNote DescribeDeadlock() const;
  void FinishEvents();

  std::vector<Warp> warps_;
  std::vector<bool> finished_;
  BlockEvents events_;
  std::optional<FaultNote> fault_;
};

}  // namespace fsr::sim
