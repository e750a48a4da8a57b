// Barriers of the block.
//
// The rule is strict on purpose: a barrier completes only when every thread it expects arrives. A thread that has
// returned does not count as arrived, and lanes that reach different `.aligned` barriers do not meet there. The
// hardware lets some of this pass and hangs on the rest; the CUDA guide calls it undefined, so a kernel that relies on
// it is reported.
#include <fmt/format.h>

#include <bit>
#include <utility>

#include "worker/device/sim/operations.h"

namespace fsr::sim {
namespace {

constexpr uint64_t kNamedBarriers = 16;

bool FailOperand(Warp& warp, const Step& step, std::string what) {
  FaultNote note;
  note.kind = fault_kind::kInvalidOperand;
  note.what = std::move(what);
  return warp.block->Fail(warp, step, LowestLane(warp.path().mask), std::move(note));
}

// Leaves those lanes in the path that have the first lane's value; the others come here again.
void KeepEqual(Warp& warp, ValueRef ref) {
  if (!ref.exists()) return;
  const Lanes& value = *warp.Value(ref);
  const LaneMask mask = warp.path().mask;
  LaneMask same = 0;
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = LowestLane(rest);
    if (value.lane[lane] == value.lane[LowestLane(mask)]) same |= LaneMask{1} << lane;
  }
  if (same != mask) warp.Split(same, warp.path().step);
}

}  // namespace

bool RunBarrier(Warp& warp, const Step& step) {
  const BarrierStep& barrier = warp.block->context->program->barriers[step.detail];
  KeepEqual(warp, barrier.id);
  KeepEqual(warp, barrier.count);
  Path& path = warp.path();
  if (barrier.aligned && path.mask != warp.alive) {
    path.state = PathState::kWaitingForLanes;
    return true;
  }
  const int first = LowestLane(path.mask);
  const uint64_t id = warp.Value(barrier.id)->lane[first];
  const bool cluster = barrier.id.base == ValueRef::kConstant && id == kClusterBarrier;
  if (id >= kNamedBarriers && !cluster) {
    return FailOperand(warp, step, fmt::format("barrier {} is named, and there are {}", id, kNamedBarriers));
  }
  // Threads are counted by whole warps, also where the last warp of the block is not full.
  uint64_t expected = uint64_t{warp.block->context->warps_per_block} * kWarpSize;
  if (barrier.count.exists()) {
    expected = warp.Value(barrier.count)->lane[first];
    if (expected == 0 || expected % kWarpSize != 0) {
      return FailOperand(
          warp, step,
          fmt::format("barrier {} expects {} threads, which is no multiple of {}", id, expected, kWarpSize));
    }
  }
  if (warp.block->tally != nullptr) {
    warp.block->tally->Barrier();
    ++warp.totals.barriers;
  }
  return warp.block->ArriveAtBarrier(warp, step, barrier, static_cast<uint32_t>(id), static_cast<uint32_t>(expected));
}

bool Block::ArriveAtBarrier(Warp& warp, const Step& step, const BarrierStep& arrival, uint32_t id, uint32_t expected) {
  Barrier& barrier = barriers[id];
  if (barrier.arrived != 0 && barrier.expected != expected) {
    return FailOperand(warp, step,
                       fmt::format("barrier {} expects {} threads here and {} where others wait for it", id, expected,
                                   barrier.expected));
  }
  Path& path = warp.path();
  barrier.expected = expected;
  barrier.arrived += static_cast<uint32_t>(std::popcount(path.mask));
  // Lanes that never existed arrive with the warp's first.
  if ((path.mask & 1) != 0) barrier.arrived += static_cast<uint32_t>(kWarpSize - std::popcount(warp.exists));
  if (arrival.source.exists()) {
    const LaneMask yes = warp.Predicate(arrival.source) & path.mask;
    barrier.population += static_cast<uint32_t>(std::popcount(yes));
    barrier.all &= yes == path.mask;
    barrier.any |= yes != 0;
  }
  if (arrival.kind == BarrierStep::Kind::kArrive) {
    ++path.step;
  } else {
    path.state = PathState::kAtBarrier;
    path.barrier = static_cast<uint8_t>(id);
  }
  if (barrier.arrived > barrier.expected) {
    return FailOperand(
        warp, step, fmt::format("barrier {} expects {} threads, and {} arrive", id, barrier.expected, barrier.arrived));
  }
  if (barrier.arrived == barrier.expected) ReleaseBarrier(id);
  return true;
}

void Block::ReleaseBarrier(uint32_t id) {
  const Barrier result = std::exchange(barriers[id], Barrier{});
  for (Warp& warp : warps_) {
    for (uint32_t i = 0; i < warp.path_count; ++i) {
      Path& path = warp.paths[i];
      if (path.state != PathState::kAtBarrier || path.barrier != id) continue;
      const BarrierStep& step = context->program->barriers[context->program->steps[path.step].detail];
      LaneMask& predicate = path.frame->predicates[step.predicate == kNoPredicate ? kSinkPredicate : step.predicate];
      const bool holds = step.kind == BarrierStep::Kind::kAnd ? result.all : result.any;
      predicate = holds ? predicate | path.mask : predicate & ~path.mask;
      if (step.destination.exists()) {
        Lanes& target = path.frame->registers[step.destination.index];
        for (LaneMask rest = path.mask; rest != 0; rest &= rest - 1) target.lane[LowestLane(rest)] = result.population;
      }
      path.state = PathState::kReady;
      ++path.step;
    }
  }
}

}  // namespace fsr::sim
