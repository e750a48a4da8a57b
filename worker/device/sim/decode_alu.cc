// Arithmetic: the operands of an AluOperation bound to registers.
#include <fmt/format.h>

#include "common/status.h"
#include "common/status_macros.h"
#include "worker/device/sim/function_decoder.h"

namespace fsr::sim {

FunctionDecoder::Decoded FunctionDecoder::DecodeAlu(const Instruction& instruction) {
  absl::StatusOr<AluOperation> operation = FindAlu(instruction);
  if (!operation.ok()) {
    return absl::IsUnimplemented(operation.status()) ? Unknown() : operation.status();
  }
  AluStep step;
  step.operation = *std::move(operation);
  if (step.operation.bindings.size() != instruction.operands.size()) {
    return absl::InvalidArgumentError(fmt::format("has {} operands, and {} are expected", instruction.operands.size(),
                                                  step.operation.bindings.size()));
  }
  size_t predicate_count = 0;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    RETURN_IF_ERROR(BindAluOperand(instruction.operands[i], step.operation.bindings[i], step, predicate_count));
  }
  step.unusual = step.destinations[1].exists() || step.destinations[2].exists() || step.destinations[3].exists() ||
                 step.predicate != kNoPredicate || step.second_predicate != kNoPredicate || predicate_count != 0 ||
                 step.operation.uses_carry;
  const Pipe pipe = step.operation.pipe;
  return MakeStep(Op::kAlu, pipe, program_.alu, std::move(step));
}

absl::Status FunctionDecoder::BindAluOperand(const Operand& operand, AluBinding binding, AluStep& step,
                                             size_t& predicate_count) {
  const bool sink = operand.kind == Operand::Kind::kSink;
  const auto add_source = [&](const Operand& source) -> absl::Status {
    if (step.source_count == kAluSourcesMax) return absl::UnimplementedError("has too many sources");
    ASSIGN_OR_RETURN(step.sources[step.source_count], Source(source, step.operation.source_types[step.source_count]));
    ++step.source_count;
    return absl::OkStatus();
  };
  switch (binding) {
    case AluBinding::kDestination: {
      if (!sink) {
        ASSIGN_OR_RETURN(step.destinations[0], Destination(operand));
      }
      if (!operand.second.empty()) {
        ASSIGN_OR_RETURN(step.predicate, PredicateDestination(operand.second));
      }
      return absl::OkStatus();
    }
    case AluBinding::kDestinationHigh: {
      if (!sink) {
        ASSIGN_OR_RETURN(step.destinations[1], Destination(operand));
      }
      return absl::OkStatus();
    }
    case AluBinding::kPredicate: {
      if (!sink) {
        ASSIGN_OR_RETURN(step.predicate, PredicateDestination(operand.name));
      }
      if (!operand.second.empty()) {
        ASSIGN_OR_RETURN(step.second_predicate, PredicateDestination(operand.second));
      }
      return absl::OkStatus();
    }
    case AluBinding::kSource:
      return add_source(operand);
    case AluBinding::kSourcePredicate: {
      if (predicate_count == step.source_predicates.size())
        return absl::UnimplementedError("reads too many predicates");
      ASSIGN_OR_RETURN(step.source_predicates[predicate_count++], PredicateSource(operand));
      return absl::OkStatus();
    }
    case AluBinding::kVectorDestination: {
      if (operand.elements.size() > step.destinations.size())
        return absl::UnimplementedError("writes too many registers");
      for (size_t i = 0; i < operand.elements.size(); ++i) {
        if (operand.elements[i].kind == Operand::Kind::kSink) continue;
        ASSIGN_OR_RETURN(step.destinations[i], Destination(operand.elements[i]));
      }
      return absl::OkStatus();
    }
    case AluBinding::kVectorSource:
      for (const Operand& element : operand.elements) RETURN_IF_ERROR(add_source(element));
      return absl::OkStatus();
    case AluBinding::kWideDestination: {
      ASSIGN_OR_RETURN(step.destinations[0], Destination(operand));
      step.destinations[1] = {ValueRef::kRegister, step.destinations[0].index + 1};
      return absl::OkStatus();
    }
    case AluBinding::kWideSource: {
      RETURN_IF_ERROR(add_source(operand));
      if (step.source_count == kAluSourcesMax) return absl::UnimplementedError("has too many sources");
      ValueRef high = step.sources[step.source_count - 1];
      if (high.base == ValueRef::kRegister) ++high.index;
      step.sources[step.source_count++] = high;
      return absl::OkStatus();
    }
    case AluBinding::kParameter:
      return absl::OkStatus();
  }
  return absl::InternalError("An ALU operand has no binding.");
}

}  // namespace fsr::sim
