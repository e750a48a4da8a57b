// The interpreter's loop.
#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <utility>

#include "worker/device/sim/address_space.h"
#include "worker/device/sim/operations.h"

namespace fsr::sim {

// Runs the current path until it reaches another path's place, changes frame, waits, or uses up `steps`.
bool Warp::RunPath(uint32_t& steps) {
  const Program& program = *block->context->program;
  const Step* const code = program.steps.data();
  uint64_t* const counts = block->counts;
  Tally* const tally = block->tally;
  for (;;) {
    Path& running = paths[current];
    const uint32_t at = running.step;
    if (at >= stop_step_ || steps == 0) return true;
    const Step& step = code[at];
    const LaneMask active = running.mask & (frame->predicates[step.guard] ^ step.guard_inverted);
    const int lanes = std::popcount(active);
    counts[at] += static_cast<uint64_t>(lanes);
    --steps;
    ++clock;
    if (tally != nullptr) {
      tally->Instruction(step.pipe, lanes);
      ++totals.instructions;
    }
    if (active == 0) {
      ++running.step;
      continue;
    }
    bool ok = true;
    switch (step.op) {
      case Op::kAlu:
        RunAlu(program.alu[step.detail], active);
        break;
      case Op::kLoad:
        ok = RunLoad(*this, step, active);
        break;
      case Op::kStore:
        ok = RunStore(*this, step, active);
        break;
      case Op::kBranch:
        // The usual branch: all lanes go one way, and no other path is there to think of.
        if (active == running.mask && path_count == 1 && step.target > at) {
          running.step = step.target;
          continue;
        }
        [[fallthrough]];
      default: {
        const Flow flow = RunControl(step, active);
        if (flow == Flow::kFault) return false;
        if (flow == Flow::kChoose) return true;
        continue;
      }
    }
    if (!ok) return false;
    ++running.step;
  }
}

void Warp::RunAlu(const AluStep& alu, LaneMask active) {
  AluArguments arguments;
  arguments.mask = active;
  const auto target = [&](ValueRef ref) { return ref.exists() ? frame->registers.data() + ref.index : nullptr; };
  arguments.destination = target(alu.destinations[0]);
  if (alu.unusual) {
    arguments.destination_high = target(alu.destinations[1]);
    arguments.further_destinations = {target(alu.destinations[2]), target(alu.destinations[3])};
    if (alu.predicate != kNoPredicate) arguments.predicate = &frame->predicates[alu.predicate];
    if (alu.second_predicate != kNoPredicate) arguments.second_predicate = &frame->predicates[alu.second_predicate];
    for (size_t i = 0; i < alu.source_predicates.size(); ++i) {
      if (alu.source_predicates[i].exists()) arguments.source_predicates[i] = Predicate(alu.source_predicates[i]);
    }
    if (alu.operation.uses_carry) arguments.carry = &frame->carry;
  }
  for (uint32_t i = 0; i < alu.source_count; ++i) arguments.sources[i] = Value(alu.sources[i]);
  alu.operation.function(alu.operation, arguments);
}

// False: another path should have a turn.
bool Warp::JumpTo(uint32_t target, uint32_t from) {
  Path& jumping = path();
  jumping.step = target;
  if (target > from) return true;
  jumping.loop_line = block->context->program->steps[from].line;
  const uint32_t cost = jumping.strong ? kPatienceOfWaiting : 1;
  jumping.strong = false;
  if (jumping.patience > cost) {
    jumping.patience -= cost;
    return path_count == 1;
  }
  jumping.patience = kPatience;
  jumping.yielded = true;
  return false;
}

Warp::Flow Warp::Branch(const Step& step, LaneMask active) {
  const uint32_t at = path().step;
  const bool divergent = active != path().mask;
  if (divergent) {
    if (block->tally != nullptr) block->tally->Branch();
    Split(active, at + 1);
  }
  const bool goes_on = JumpTo(step.target, at);
  return divergent || !goes_on ? Flow::kChoose : Flow::kNext;
}

Warp::Flow Warp::BranchIndexed(const Step& step, LaneMask active) {
  const BranchTable& table = block->context->program->branch_tables[step.detail];
  const uint32_t at = path().step;
  if (active != path().mask) Split(active, at + 1);
  const Lanes& index = *Value(table.index);
  const uint64_t wanted = index.lane[LowestLane(active)];
  if (wanted >= table.targets.size()) {
    FaultNote note;
    note.kind = fault_kind::kInvalidOperand;
    note.what = fmt::format("an indexed branch takes entry {} of {}", wanted, table.targets.size());
    block->Fail(*this, step, LowestLane(active), std::move(note));
    return Flow::kFault;
  }
  LaneMask same = 0;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    if (index.lane[LowestLane(rest)] == wanted) same |= LaneMask{1} << LowestLane(rest);
  }
  // The others come here again.
  if (same != active) Split(same, at);
  JumpTo(table.targets[wanted], at);
  return Flow::kChoose;
}

Warp::Flow Warp::Exchange(const Step& step, LaneMask active) {
  const ExchangeStep& exchange = block->context->program->exchanges[step.detail];
  const LaneMask missing = MissingLanes(*this, *frame, exchange, active);
  if (missing != 0) {
    // Lanes that are not concerned go on; the others wait here.
    if (active != path().mask) Split(active, path().step + 1);
    path().state = PathState::kWaitingForLanes;
    return Flow::kChoose;
  }
  if (!RunExchange(*this, step, active)) return Flow::kFault;
  ++path().step;
  return Flow::kNext;
}

void Warp::RunSimple(const Step& step, LaneMask active) {
  const SimpleStep& simple = block->context->program->simple[step.detail];
  const auto write = [&](uint64_t value) {
    Lanes& target = *Target(simple.destination);
    for (LaneMask rest = active; rest != 0; rest &= rest - 1) target.lane[LowestLane(rest)] = value;
  };
  switch (step.op) {
    case Op::kActiveMask:
      write(active);
      break;
    case Op::kClock:
      write(clock >> simple.parameter);
      path().strong = true;
      break;
    case Op::kLocalAddress:
      write(frame->local_begin + simple.parameter);
      break;
    case Op::kSleep:
      clock += Value(simple.value)->lane[LowestLane(active)];
      path().strong = true;
      break;
    case Op::kWaitAsync:
      FlushCopies(active, static_cast<uint32_t>(simple.parameter));
      break;
    default:
      break;
  }
}

Warp::Flow Warp::RunControl(const Step& step, LaneMask active) {
  const uint32_t at = path().step;
  switch (step.op) {
    case Op::kBranch:
      return Branch(step, active);
    case Op::kBranchIndexed:
      return BranchIndexed(step, active);
    case Op::kCall:
      return RunCall(*this, step, active) ? Flow::kChoose : Flow::kFault;
    case Op::kReturn:
      if (active != path().mask) Split(active, at + 1);
      if (frame->caller != nullptr) {
        LeaveFrame(active);
      } else {
        ExitLanes(active);
      }
      return Flow::kChoose;
    case Op::kExit:
      if (active != path().mask) Split(active, at + 1);
      ExitLanes(active);
      return Flow::kChoose;
    case Op::kBarrier:
      if (active != path().mask) Split(active, at + 1);
      return RunBarrier(*this, step) ? Flow::kChoose : Flow::kFault;
    case Op::kExchange:
      return Exchange(step, active);
    case Op::kTrap: {
      FaultNote note;
      note.kind = fault_kind::kTrap;
      note.what = "the kernel executes trap";
      block->Fail(*this, step, LowestLane(active), std::move(note));
      return Flow::kFault;
    }
    case Op::kUnsupported: {
      FaultNote note;
      note.outcome = v1::UNSUPPORTED;
      note.kind = fault_kind::kUnsupported;
      note.what = block->context->program->unsupported[step.detail];
      block->Fail(*this, step, LowestLane(active), std::move(note));
      return Flow::kFault;
    }
    case Op::kAtomic:
      if (!RunAtomic(*this, step, active)) return Flow::kFault;
      break;
    case Op::kCopyAsync:
      if (!RunCopyAsync(*this, step, active)) return Flow::kFault;
      break;
    case Op::kMatrix:
      if (path().mask != alive) {
        path().state = PathState::kWaitingForLanes;
        return Flow::kChoose;
      }
      if (!RunMatrix(*this, step, active)) return Flow::kFault;
      break;
    case Op::kCommitAsync:
      for (LaneMask rest = active; rest != 0; rest &= rest - 1) ++copy_groups[static_cast<size_t>(LowestLane(rest))];
      break;
    case Op::kIsSpace:
      RunIsSpace(*this, step, active);
      break;
    case Op::kFence:
      std::atomic_thread_fence(std::memory_order_seq_cst);
      break;
    default:
      RunSimple(step, active);
      break;
  }
  path().step = at + 1;
  return Flow::kNext;
}

}  // namespace fsr::sim
