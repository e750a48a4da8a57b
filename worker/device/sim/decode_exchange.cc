// shfl, vote, match, redux, elect, activemask, bar.warp: lanes that need other lanes.
#include "common/status_macros.h"
#include "worker/device/sim/function_decoder.h"

namespace fsr::sim {

using Kind = ExchangeStep::Kind;

FunctionDecoder::Decoded FunctionDecoder::DecodeShuffle(const Instruction& instruction, bool sync) {
  if (instruction.operands.size() != (sync ? 5u : 4u)) return Unknown();
  ExchangeStep step;
  if (HasModifier(instruction, "up")) {
    step.kind = Kind::kShuffleUp;
  } else if (HasModifier(instruction, "down")) {
    step.kind = Kind::kShuffleDown;
  } else if (HasModifier(instruction, "bfly")) {
    step.kind = Kind::kShuffleButterfly;
  } else if (HasModifier(instruction, "idx")) {
    step.kind = Kind::kShuffleIndex;
  } else {
    return Unknown();
  }
  ASSIGN_OR_RETURN(step.destination, Destination(instruction.operands[0]));
  if (!instruction.operands[0].second.empty()) {
    ASSIGN_OR_RETURN(step.predicate, PredicateDestination(instruction.operands[0].second));
  }
  ASSIGN_OR_RETURN(step.value, Source(instruction.operands[1], "b32"));
  ASSIGN_OR_RETURN(step.lane, Source(instruction.operands[2], "b32"));
  ASSIGN_OR_RETURN(step.clamp, Source(instruction.operands[3], "b32"));
  if (sync) {
    ASSIGN_OR_RETURN(step.members, Source(instruction.operands[4], "b32"));
  }
  return MakeStep(Op::kExchange, Pipe::kShuffle, program_.exchanges, step);
}

FunctionDecoder::Decoded FunctionDecoder::DecodeVote(const Instruction& instruction, bool sync) {
  if (instruction.operands.size() != (sync ? 3u : 2u)) return Unknown();
  ExchangeStep step;
  const Operand& destination = instruction.operands[0];
  if (HasModifier(instruction, "ballot")) {
    step.kind = Kind::kVoteBallot;
    ASSIGN_OR_RETURN(step.destination, Destination(destination));
  } else {
    step.kind = HasModifier(instruction, "all")   ? Kind::kVoteAll
                : HasModifier(instruction, "any") ? Kind::kVoteAny
                                                  : Kind::kVoteUniform;
    ASSIGN_OR_RETURN(step.predicate, PredicateDestination(destination.name));
  }
  ASSIGN_OR_RETURN(step.source, PredicateSource(instruction.operands[1]));
  if (sync) {
    ASSIGN_OR_RETURN(step.members, Source(instruction.operands[2], "b32"));
  }
  return MakeStep(Op::kExchange, Pipe::kShuffle, program_.exchanges, step);
}

FunctionDecoder::Decoded FunctionDecoder::DecodeExchange(const Instruction& instruction) {
  const bool sync = HasModifier(instruction, "sync");
  if (instruction.opcode == "shfl") return DecodeShuffle(instruction, sync);
  if (instruction.opcode == "vote") return DecodeVote(instruction, sync);
  ExchangeStep step;
  const std::vector<Operand>& operands = instruction.operands;
  if (instruction.opcode == "elect") {
    if (operands.size() != 2) return Unknown();
    step.kind = Kind::kElect;
    ASSIGN_OR_RETURN(step.destination, Destination(operands[0]));
    ASSIGN_OR_RETURN(step.predicate, PredicateDestination(operands[0].second));
    ASSIGN_OR_RETURN(step.members, Source(operands[1], "b32"));
    return MakeStep(Op::kExchange, Pipe::kShuffle, program_.exchanges, step);
  }
  if (operands.size() != 3) return Unknown();
  const std::string_view type = TypeOf(instruction);
  ASSIGN_OR_RETURN(step.destination, Destination(operands[0]));
  if (instruction.opcode == "match") {
    step.kind = HasModifier(instruction, "all") ? Kind::kMatchAll : Kind::kMatchAny;
    step.wide = type == "b64";
    if (!operands[0].second.empty()) {
      ASSIGN_OR_RETURN(step.predicate, PredicateDestination(operands[0].second));
    }
  } else {
    step.kind = Kind::kReduce;
    for (const std::string& modifier : instruction.modifiers) {
      if (step.fold == nullptr) step.fold = FindFold(modifier, type);
    }
    // The f32 variants that look at magnitudes or hand NaN on are another operation.
    if (step.fold == nullptr || HasModifier(instruction, "abs") || HasModifier(instruction, "NaN")) {
      return Unknown();
    }
  }
  ASSIGN_OR_RETURN(step.value, Source(operands[1], type));
  ASSIGN_OR_RETURN(step.members, Source(operands[2], "b32"));
  return MakeStep(Op::kExchange, Pipe::kShuffle, program_.exchanges, step);
}

}  // namespace fsr::sim
