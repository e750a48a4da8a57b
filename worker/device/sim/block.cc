#include "worker/device/sim/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "worker/device/sim/operations.h"

namespace fsr::sim {
namespace {

// Warp instructions that a warp runs before the next one has its turn.
constexpr uint32_t kSliceSteps = 4096;

// Shared memory begins with these: as floats they are NaN, so that a read before a write shows.
constexpr std::byte kSharedPoison{0xff};

std::string Threads(uint64_t count) { return fmt::format("{} thread{}", count, count == 1 ? "" : "s"); }

}  // namespace

void Block::Start(const LaunchContext* launch, uint64_t block_index, uint64_t* step_counts, Tally* events_tally) {
  context = launch;
  index = block_index;
  counts = step_counts;
  tally = events_tally;
  barriers = {};
  events_ = {};
  fault_.reset();
  shared.assign(launch->shared_bytes, kSharedPoison);
  warps_.resize(launch->warps_per_block);
  finished_.assign(launch->warps_per_block, false);
  for (uint32_t i = 0; i < launch->warps_per_block; ++i) {
    const uint32_t lanes = std::min<uint32_t>(launch->threads_per_block - i * kWarpSize, kWarpSize);
    warps_[i].Reset(this, i, lanes == kWarpSize ? kFullMask : (LaneMask{1} << lanes) - 1);
  }
}

BlockProgress Block::RunRound() {
  if (tally != nullptr) tally->SetBlock(&events_);
  bool any_left = false, any_ran = false, any_spun = false;
  for (size_t i = 0; i < warps_.size(); ++i) {
    if (finished_[i]) continue;
    any_left = true;
    switch (warps_[i].Run(kSliceSteps)) {
      case WarpProgress::kFinished:
        finished_[i] = true;
        any_ran = true;
        break;
      case WarpProgress::kRan:
        any_ran = true;
        break;
      case WarpProgress::kSpun:
        any_spun = true;
        break;
      case WarpProgress::kBlocked:
        break;
      case WarpProgress::kFault:
        return BlockProgress::kFault;
    }
  }
  if (!any_left) {
    FinishEvents();
    return BlockProgress::kFinished;
  }
  if (any_ran) return BlockProgress::kRan;
  if (any_spun) return BlockProgress::kStalled;
  // The last arrival of a round may have released warps that had their turn before it.
  for (const Warp& warp : warps_) {
    for (uint32_t i = 0; i < warp.path_count; ++i) {
      if (warp.paths[i].state == PathState::kReady) return BlockProgress::kRan;
    }
  }
  fault_ = DescribeDeadlock();
  return BlockProgress::kFault;
}

void Block::FinishEvents() {
  if (tally == nullptr) return;
  for (const Warp& warp : warps_) {
    events_.longest_warp_instructions = std::max(events_.longest_warp_instructions, warp.totals.instructions);
    events_.longest_warp_global_requests = std::max(events_.longest_warp_global_requests, warp.totals.global_requests);
    events_.longest_warp_shared_requests = std::max(events_.longest_warp_shared_requests, warp.totals.shared_requests);
    events_.longest_warp_barriers = std::max(events_.longest_warp_barriers, warp.totals.barriers);
  }
}

std::array<uint32_t, 3> Block::Position() const {
  const std::array<uint32_t, 3>& grid = context->grid;
  return {static_cast<uint32_t>(index % grid[0]), static_cast<uint32_t>(index / grid[0] % grid[1]),
          static_cast<uint32_t>(index / grid[0] / grid[1])};
}

std::array<uint32_t, 3> Block::ThreadPosition(const Warp& warp, int lane) const {
  const uint32_t thread = warp.number * kWarpSize + static_cast<uint32_t>(lane);
  const std::array<uint32_t, 3>& block = context->block;
  return {thread % block[0], thread / block[0] % block[1], thread / block[0] / block[1]};
}

bool Block::Fail(const Warp& warp, const Step& step, int lane, FaultNote note) {
  note.has_thread = true;
  note.block_number = index;
  note.block = Position();
  note.thread = ThreadPosition(warp, lane);
  note.line = step.line;
  fault_ = std::move(note);
  return false;
}

FaultNote Block::DescribeTimeout() const {
  FaultNote note;
  note.outcome = v1::TIMEOUT;
  note.kind = fault_kind::kTimeout;
  note.what = "the kernel did not end within its time limit; it was running";
  note.block_number = index;
  for (const Warp& warp : warps_) {
    if (warp.alive == 0) continue;
    for (uint32_t i = 0; i < warp.path_count; ++i) {
      const Path& path = warp.paths[i];
      if (path.state != PathState::kReady) continue;
      note.has_thread = true;
      note.block = Position();
      note.thread = ThreadPosition(warp, LowestLane(path.mask));
      note.line = path.loop_line != 0 ? path.loop_line : context->program->steps[path.step].line;
      if (path.loop_line != 0) note.what = "the kernel did not end within its time limit; it was in a loop";
      return note;
    }
  }
  return note;
}

// Every warp waits for something that cannot happen any more.
FaultNote Block::DescribeDeadlock() const {
  std::map<uint32_t, uint64_t> waiting_at;  // by line
  uint64_t returned = 0;
  const Warp* first_warp = nullptr;
  const Path* first = nullptr;
  for (const Warp& warp : warps_) {
    returned += static_cast<uint64_t>(std::popcount(warp.exists & ~warp.alive));
    if (warp.alive == 0) continue;
    for (uint32_t i = 0; i < warp.path_count; ++i) {
      const Path& path = warp.paths[i];
      const Step& step = context->program->steps[path.step];
      waiting_at[step.line] += static_cast<uint64_t>(std::popcount(path.mask));
      // A barrier says more than a warp-wide operation; the one where lanes arrived says most.
      const bool better =
          first == nullptr || (step.op == Op::kBarrier &&
                               (context->program->steps[first->step].op != Op::kBarrier || path.state > first->state));
      if (!better) continue;
      first = &path;
      first_warp = &warp;
    }
  }
  const Step& step = context->program->steps[first->step];
  const bool counted = step.op == Op::kBarrier && context->program->barriers[step.detail].count.exists();
  const uint64_t expected =
      counted && first->state == PathState::kAtBarrier ? barriers[first->barrier].expected : context->threads_per_block;
  const uint64_t here = waiting_at[step.line];
  waiting_at.erase(step.line);
  FaultNote note;
  const bool barrier = step.op == Op::kBarrier;
  note.kind = barrier ? fault_kind::kDivergentBarrier : fault_kind::kDivergentWarp;
  note.what = fmt::format("the {} {} can never complete: {} of {} arrived", barrier ? "barrier" : "warp-wide operation",
                          context->program->opcodes[step.opcode], here, Threads(expected));
  if (returned != 0) note.what += fmt::format(", {} have returned", returned);
  for (const auto& [line, count] : waiting_at) {
    note.what +=
        line != 0 ? fmt::format(", {} wait at line {}", count, line) : fmt::format(", {} wait elsewhere", count);
  }
  note.has_thread = true;
  note.block_number = index;
  note.block = Position();
  note.thread = ThreadPosition(*first_warp, LowestLane(first->mask));
  note.line = step.line;
  return note;
}

}  // namespace fsr::sim
