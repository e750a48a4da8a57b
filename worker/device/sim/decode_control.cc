// Branches, calls and barriers.
#include <fmt/format.h>

#include "common/status_macros.h"
#include "worker/device/sim/address_space.h"
#include "worker/device/sim/block.h"
#include "worker/device/sim/function_decoder.h"

namespace fsr::sim {

// Targets are instruction numbers until the whole function is decoded.
FunctionDecoder::Decoded FunctionDecoder::DecodeBranch(const Instruction& instruction) {
  const auto find_label = [&](const std::string& name) -> absl::StatusOr<uint32_t> {
    const auto found = function_.labels.find(name);
    if (found == function_.labels.end())
      return absl::InvalidArgumentError(fmt::format("goes to {}, a label that is not there", name));
    return found->second;
  };
  if (instruction.opcode == "bra") {
    if (instruction.operands.size() != 1) return Unknown();
    Step step = PlainStep(Op::kBranch, Pipe::kControl);
    ASSIGN_OR_RETURN(step.target, find_label(instruction.operands[0].name));
    return step;
  }
  if (instruction.operands.size() != 2) return Unknown();
  BranchTable table;
  ASSIGN_OR_RETURN(table.index, Source(instruction.operands[0], "u32"));
  const auto targets = function_.branch_targets.find(instruction.operands[1].name);
  if (targets == function_.branch_targets.end()) {
    return absl::InvalidArgumentError(fmt::format("names {}, a table that is not there", instruction.operands[1].name));
  }
  for (const std::string& label : targets->second) {
    ASSIGN_OR_RETURN(const uint32_t target, find_label(label));
    table.targets.push_back(target);
  }
  return MakeStep(Op::kBranchIndexed, Pipe::kControl, program_.branch_tables, std::move(table));
}

FunctionDecoder::Decoded FunctionDecoder::DecodeCall(const Instruction& instruction) {
  CallStep step;
  const auto bind = [&](const std::vector<std::string>& names, std::vector<ParameterSlot>& to) -> absl::Status {
    for (const std::string& name : names) {
      const ParameterSlot* slot = FindParameter(name);
      if (slot == nullptr)
        return absl::UnimplementedError(fmt::format("passes {}, which is not a .param variable", name));
      to.push_back(*slot);
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(bind(instruction.call_arguments, step.arguments));
  RETURN_IF_ERROR(bind(instruction.call_returns, step.returns));
  if (const auto found = shared_.functions.find(instruction.callee); found != shared_.functions.end()) {
    step.function = found->second;
  } else if (instruction.callee == "vprintf") {
    step.callee = CallStep::Callee::kPrintf;
  } else if (instruction.callee == "__assertfail") {
    step.callee = CallStep::Callee::kAssertFail;
    if (step.arguments.size() < 4) return Unknown();
  } else if (const Register* target = FindRegister(instruction.callee); target != nullptr && !target->predicate) {
    step.callee = CallStep::Callee::kIndirect;
    step.address = {ValueRef::kRegister, target->index};
  } else {
    return absl::UnimplementedError(fmt::format("calls {}, which is not simulated", instruction.callee));
  }
  return MakeStep(Op::kCall, Pipe::kControl, program_.calls, std::move(step));
}

FunctionDecoder::Decoded FunctionDecoder::DecodeBarrier(const Instruction& instruction) {
  const std::vector<Operand>& operands = instruction.operands;
  if (HasModifier(instruction, "warp")) {
    if (operands.size() != 1) return Unknown();
    ExchangeStep exchange;
    ASSIGN_OR_RETURN(exchange.members, Source(operands[0], "b32"));
    return MakeStep(Op::kExchange, Pipe::kShuffle, program_.exchanges, exchange);
  }
  BarrierStep step;
  if (HasModifier(instruction, "cluster")) {
    // The arrival is counted where the thread waits: no thread can tell the difference, since each does both.
    if (HasModifier(instruction, "arrive")) return PlainStep(Op::kFence, Pipe::kBarrier);
    step.id = shared_.Constant(kClusterBarrier);
    step.aligned = HasModifier(instruction, "aligned");
    return MakeStep(Op::kBarrier, Pipe::kBarrier, program_.barriers, step);
  }
  // `bar` is `barrier` with .aligned.
  step.aligned = instruction.opcode == "bar" || HasModifier(instruction, "aligned");
  size_t next = 0;
  if (HasModifier(instruction, "arrive")) step.kind = BarrierStep::Kind::kArrive;
  const bool reduces = HasModifier(instruction, "red");
  if (reduces) {
    if (operands.empty()) return Unknown();
    if (HasModifier(instruction, "popc")) {
      step.kind = BarrierStep::Kind::kPopulation;
      ASSIGN_OR_RETURN(step.destination, Destination(operands[0]));
    } else {
      step.kind = HasModifier(instruction, "and") ? BarrierStep::Kind::kAnd : BarrierStep::Kind::kOr;
      ASSIGN_OR_RETURN(step.predicate, PredicateDestination(operands[0].name));
    }
    next = 1;
  }
  if (operands.size() < next + 1 + (reduces ? 1u : 0u)) return Unknown();
  ASSIGN_OR_RETURN(step.id, Source(operands[next++], "u32"));
  if (operands.size() > next + (reduces ? 1u : 0u)) {
    ASSIGN_OR_RETURN(step.count, Source(operands[next++], "u32"));
  }
  if (reduces) {
    ASSIGN_OR_RETURN(step.source, PredicateSource(operands[next++]));
  }
  if (next != operands.size() || (step.kind == BarrierStep::Kind::kArrive && !step.count.exists())) {
    return Unknown();
  }
  return MakeStep(Op::kBarrier, Pipe::kBarrier, program_.barriers, step);
}

}  // namespace fsr::sim
