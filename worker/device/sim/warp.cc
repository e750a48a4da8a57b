#include "worker/device/sim/warp.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "worker/device/sim/operations.h"

namespace fsr::sim {
namespace {

constexpr uint32_t kNoStop = 0xffffffffu;

}  // namespace

void Warp::Reset(Block* owner, uint32_t warp_number, LaneMask lanes) {
  block = owner;
  number = warp_number;
  alive = exists = lanes;
  current = 0;
  path_count = 1;
  pending_copies.clear();
  copy_groups.fill(0);
  clock = 0;
  totals = {};
  for (const std::unique_ptr<Frame>& used : frames_) used->live = 0;

  const LaunchContext& context = *block->context;
  const Program& program = *context.program;
  SpecialContext special;
  special.grid = context.grid;
  special.block = context.block;
  special.block_index = block->Position();
  special.warp_index = number;
  special.warp_count = context.warps_per_block;
  special.sm = static_cast<uint32_t>(block->index % context.sm_count);
  special.sm_count = context.sm_count;
  special.dynamic_shared_bytes = context.dynamic_shared_bytes;
  special.total_shared_bytes = context.shared_bytes;
  special.grid_workspace = context.grid_workspace;
  specials_.resize(program.specials.size());
  for (size_t i = 0; i < specials_.size(); ++i) specials_[i] = SpecialRegisterLanes(program.specials[i], special);

  bases_[ValueRef::kConstant] = program.constants.data();
  bases_[ValueRef::kSpecial] = specials_.data();
  paths[0] = {};
  paths[0].mask = lanes;
  paths[0].frame = NewFrame(program.functions[0]);
  paths[0].frame->live = lanes;
  paths[0].step = program.functions[0].first_step;
  Activate();
}

Frame* Warp::NewFrame(const FunctionCode& function) {
  const auto unused = std::find_if(frames_.begin(), frames_.end(), [](const auto& f) { return f->live == 0; });
  Frame* fresh = nullptr;
  if (unused == frames_.end()) {
    frames_.push_back(std::make_unique<Frame>());
    fresh = frames_.back().get();
  } else {
    fresh = unused->get();
  }
  fresh->function = &function;
  fresh->caller = nullptr;
  fresh->call = nullptr;
  fresh->depth = 0;
  fresh->local_begin = 0;
  fresh->carry = 0;
  // Unset registers are zero, so that a run repeats exactly.
  fresh->registers.assign(function.register_count, Lanes{});
  fresh->predicates.assign(function.predicate_count, 0);
  fresh->predicates[kTruePredicate] = kFullMask;
  fresh->parameters.assign(size_t{function.parameter_bytes} * kWarpSize, std::byte{0});
  return fresh;
}

void Warp::EnterFrame(const FunctionCode& function) {
  Frame* caller = frame;
  Frame* callee = NewFrame(function);
  callee->caller = caller;
  callee->depth = caller->depth + 1;
  callee->local_begin = caller->local_begin + caller->function->local_bytes;
  callee->live = path().mask;
  path().frame = callee;
  path().step = function.first_step;
  Activate();
}

void Warp::Activate() {
  frame = path().frame;
  bases_[ValueRef::kRegister] = frame->registers.data();
}

std::byte* Warp::LocalMemory(int lane) {
  const size_t stride = block->context->program->local_bytes_per_thread;
  if (local_.size() < stride * kWarpSize) local_.resize(stride * kWarpSize);
  return local_.data() + static_cast<size_t>(lane) * stride;
}

void Warp::Split(LaneMask mask, uint32_t step) {
  Path other = path();
  other.mask = path().mask & ~mask;
  other.step = step;
  path().mask = mask;
  paths[path_count++] = other;
}

void Warp::RemovePath(uint32_t which) { paths[which] = paths[--path_count]; }

void Warp::ExitLanes(LaneMask lanes) {
  alive &= ~lanes;
  for (Frame* each = frame; each != nullptr; each = each->caller) each->live &= ~lanes;
  path().mask &= ~lanes;
  if (path().mask == 0) RemovePath(current);
}

void Warp::MergePaths() {
  for (uint32_t i = 0; i < path_count; ++i) {
    for (uint32_t j = path_count; j-- > i + 1;) {
      Path& kept = paths[i];
      const Path& other = paths[j];
      const bool arrived = kept.state == PathState::kAtBarrier || other.state == PathState::kAtBarrier;
      if (kept.step != other.step || kept.frame != other.frame || arrived) continue;
      kept.mask |= other.mask;
      kept.state = PathState::kReady;
      kept.yielded = kept.yielded && other.yielded;
      RemovePath(j);
    }
  }
}

Warp::Choice Warp::ChoosePath() {
  if (path_count > 1) MergePaths();
  uint32_t best = path_count;
  bool any_yielded = false;
  for (uint32_t i = 0; i < path_count; ++i) {
    const Path& candidate = paths[i];
    if (candidate.state != PathState::kReady) continue;
    any_yielded |= candidate.yielded;
    if (candidate.yielded) continue;
    if (best == path_count || candidate.frame->depth > paths[best].frame->depth ||
        (candidate.frame->depth == paths[best].frame->depth && candidate.step < paths[best].step)) {
      best = i;
    }
  }
  if (best == path_count) {
    if (!any_yielded) return Choice::kNone;
    for (uint32_t i = 0; i < path_count; ++i) paths[i].yielded = false;
    return Choice::kAllYielded;
  }
  current = best;
  stop_step_ = kNoStop;
  for (uint32_t i = 0; i < path_count; ++i) {
    const bool ahead = i != best && paths[i].frame == paths[best].frame && paths[i].step > paths[best].step;
    if (ahead && paths[i].state != PathState::kAtBarrier) stop_step_ = std::min(stop_step_, paths[i].step);
  }
  Activate();
  return Choice::kPath;
}

// The lanes that have all the lanes with them that they named: the others may still be missing some.
LaneMask Warp::SatisfiedLanes(const Path& waiting, const ExchangeStep& exchange) const {
  LaneMask satisfied = waiting.mask;
  for (bool changed = true; changed;) {
    changed = false;
    for (LaneMask rest = satisfied; rest != 0; rest &= rest - 1) {
      const LaneMask lane = rest & (~rest + 1);
      if ((MissingLanes(*this, *waiting.frame, exchange, lane) & ~satisfied) == 0) continue;
      satisfied &= ~lane;
      changed = true;
    }
  }
  return satisfied;
}

// Nothing is ready. Lanes that waited for others may go on if those have exited meanwhile, or if all that they named
// stand with them.
Warp::Retry Warp::RetryWaiting() {
  const Program& program = *block->context->program;
  for (uint32_t i = 0; i < path_count; ++i) {
    Path& waiting = paths[i];
    if (waiting.state != PathState::kWaitingForLanes) continue;
    const Step& step = program.steps[waiting.step];
    if (step.op != Op::kExchange) {  // an aligned barrier, a matrix
      if (waiting.mask != alive) continue;
      waiting.state = PathState::kReady;
      return Retry::kChooseAgain;
    }
    const ExchangeStep& exchange = program.exchanges[step.detail];
    const LaneMask satisfied = SatisfiedLanes(waiting, exchange);
    if (satisfied == 0) continue;
    current = i;
    waiting.state = PathState::kReady;
    if (satisfied != waiting.mask) {
      Split(satisfied, waiting.step);
      paths[path_count - 1].state = PathState::kWaitingForLanes;
    }
    stop_step_ = kNoStop;
    Activate();
    return Retry::kRunCurrent;
  }
  return ReleaseWarpBarriers() ? Retry::kChooseAgain : Retry::kBlocked;
}

// bar.warp.sync lets lanes meet that stand at different ones, if their masks agree.
bool Warp::ReleaseWarpBarriers() {
  const Program& program = *block->context->program;
  const auto at_warp_barrier = [&](const Path& candidate) {
    if (candidate.state != PathState::kWaitingForLanes) return false;
    const Step& step = program.steps[candidate.step];
    return step.op == Op::kExchange && program.exchanges[step.detail].kind == ExchangeStep::Kind::kBarrier;
  };
  LaneMask gathered = 0;
  for (uint32_t i = 0; i < path_count; ++i) {
    if (at_warp_barrier(paths[i])) gathered |= paths[i].mask;
  }
  bool released = false;
  for (uint32_t i = 0; i < path_count; ++i) {
    Path& waiting = paths[i];
    if (!at_warp_barrier(waiting)) continue;
    const ExchangeStep& exchange = program.exchanges[program.steps[waiting.step].detail];
    if ((MissingLanes(*this, *waiting.frame, exchange, waiting.mask) & ~gathered) != 0) continue;
    waiting.state = PathState::kReady;
    ++waiting.step;
    released = true;
  }
  return released;
}

WarpProgress Warp::Run(uint32_t steps) {
  while (alive != 0) {
    const Choice choice = ChoosePath();
    if (choice == Choice::kAllYielded) return WarpProgress::kSpun;
    if (choice == Choice::kNone) {
      const Retry retry = RetryWaiting();
      if (retry == Retry::kBlocked) return WarpProgress::kBlocked;
      // Lanes that may go on without those beside them run before the two can merge again.
      if (retry == Retry::kChooseAgain) continue;
    }
    if (!RunPath(steps)) return WarpProgress::kFault;
    if (steps == 0) return alive == 0 ? WarpProgress::kFinished : WarpProgress::kRan;
  }
  return WarpProgress::kFinished;
}

}  // namespace fsr::sim
