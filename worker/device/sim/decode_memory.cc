// ld, st, atom, red, cvta, isspacep, cp.async.
#include <fmt/format.h>

#include <algorithm>

#include "common/status_macros.h"
#include "worker/device/sim/address_space.h"
#include "worker/device/sim/function_decoder.h"

namespace fsr::sim {
Space SpaceOf(const ptx::Instruction& instruction) {
  for (const std::string& modifier : instruction.modifiers) {
    if (modifier == "global") return Space::kGlobal;
    if (modifier == "shared" || modifier.starts_with("shared::")) return Space::kShared;
    if (modifier == "local") return Space::kLocal;
    if (modifier == "const") return Space::kConst;
    if (modifier == "param" || modifier.starts_with("param::")) return Space::kKernelParameter;
  }
  return Space::kGeneric;
}

namespace {

Pipe PipeOf(Space space) {
  switch (space) {
    case Space::kShared:
      return Pipe::kShared;
    case Space::kConst:
    case Space::kKernelParameter:
    case Space::kFrameParameter:
      return Pipe::kAlu;
    default:
      return Pipe::kGlobal;
  }
}

uint8_t VectorWidth(const ptx::Instruction& instruction) {
  if (HasModifier(instruction, "v2")) return 2;
  if (HasModifier(instruction, "v4")) return 4;
  if (HasModifier(instruction, "v8")) return 8;
  return 1;
}

}  // namespace

FunctionDecoder::Decoded FunctionDecoder::DecodeAccess(const Instruction& instruction) {
  const bool load = instruction.opcode == "ld" || instruction.opcode == "ldu";
  const std::string_view type = TypeOf(instruction);
  const size_t expected = 2;
  if (instruction.operands.size() < expected || type.empty()) return Unknown();
  const Operand& address = instruction.operands[load ? 1 : 0];
  const Operand& value = instruction.operands[load ? 0 : 1];
  AccessStep step;
  ASSIGN_OR_RETURN(step.where, Address(address, SpaceOf(instruction)));
  step.element_bytes = static_cast<uint8_t>(std::min<uint32_t>(TypeBytes(type), 8));
  step.count = VectorWidth(instruction);
  for (const char* modifier : {"volatile", "relaxed", "acquire", "mmio"})
    step.strong |= HasModifier(instruction, modifier);

  std::vector<Operand> elements = value.kind == Operand::Kind::kVector ? value.elements : std::vector<Operand>{value};
  if (elements.size() != step.count) {
    return absl::InvalidArgumentError(fmt::format("names {} registers for {} elements", elements.size(), step.count));
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    ASSIGN_OR_RETURN(step.values[i], load ? Destination(elements[i]) : Source(elements[i], type));
  }
  if (type == "b128") {
    if (step.count != 1) return Unknown();
    step.count = 2;
    step.values[1] = step.values[0];
    if (step.values[1].base == ValueRef::kRegister) ++step.values[1].index;
  }
  if (load && type.front() == 's') {
    const Register* target = FindRegister(elements[0].name);
    if (target != nullptr && target->bits > TypeBytes(type) * 8) {
      step.sign_from_bits = static_cast<uint8_t>(TypeBytes(type) * 8);
      step.sign_to_bits = static_cast<uint8_t>(target->bits);
    }
  }
  const Pipe pipe = PipeOf(step.where.space);
  return MakeStep(load ? Op::kLoad : Op::kStore, pipe, program_.accesses, step);
}

FunctionDecoder::Decoded FunctionDecoder::DecodeAtomic(const Instruction& instruction) {
  static constexpr std::string_view kOperations[] = {"add", "min",  "max", "and", "or",
                                                     "xor", "exch", "cas", "inc", "dec"};
  const bool returns = instruction.opcode == "atom";
  std::string_view operation;
  for (const std::string_view candidate : kOperations) {
    if (HasModifier(instruction, candidate)) operation = candidate;
  }
  const std::string_view type = TypeOf(instruction);
  AtomicStep step;
  const Space space = SpaceOf(instruction);
  step.function = FindAtomic(operation, type, space != Space::kShared);
  step.element_bytes = static_cast<uint8_t>(TypeBytes(type));
  step.count = VectorWidth(instruction);
  const size_t address_at = returns ? 1 : 0;
  if (step.function == nullptr || instruction.operands.size() < address_at + (operation == "cas" ? 3u : 2u)) {
    return Unknown();
  }
  ASSIGN_OR_RETURN(step.where, Address(instruction.operands[address_at], space));
  const auto bind = [&](const Operand& operand, bool destination,
                        std::array<ValueRef, kVectorMax>& to) -> absl::Status {
    const std::vector<Operand> elements =
        operand.kind == Operand::Kind::kVector ? operand.elements : std::vector<Operand>{operand};
    if (elements.size() != step.count) return absl::InvalidArgumentError("has a vector of the wrong width");
    for (size_t i = 0; i < elements.size(); ++i) {
      if (destination && elements[i].kind == Operand::Kind::kSink) continue;
      ASSIGN_OR_RETURN(to[i], destination ? Destination(elements[i]) : Source(elements[i], type));
    }
    return absl::OkStatus();
  };
  if (returns) RETURN_IF_ERROR(bind(instruction.operands[0], true, step.destinations));
  RETURN_IF_ERROR(bind(instruction.operands[address_at + 1], false, step.values));
  if (operation == "cas") {
    ASSIGN_OR_RETURN(step.swap, Source(instruction.operands[address_at + 2], type));
  }
  return MakeStep(Op::kAtomic, PipeOf(space), program_.atomics, step);
}

// Generic addresses of global, const and parameter space are the addresses themselves; shared and local memory have
// a window each.
FunctionDecoder::Decoded FunctionDecoder::DecodeConvertAddress(const Instruction& instruction) {
  if (instruction.operands.size() != 2) return Unknown();
  const Space space = SpaceOf(instruction);
  uint64_t window = 0;
  if (space == Space::kShared) window = kSharedBegin;
  if (space == Space::kLocal) window = kLocalBegin;
  const bool to_space = HasModifier(instruction, "to");
  Instruction arithmetic = instruction;
  arithmetic.opcode = window == 0 ? "mov" : to_space ? "sub" : "add";
  arithmetic.modifiers = {"u64"};
  if (window != 0) {
    Operand begin;
    begin.kind = Operand::Kind::kImmediate;
    begin.bits = window;
    arithmetic.operands.push_back(begin);
  }
  return DecodeAlu(arithmetic);
}

FunctionDecoder::Decoded FunctionDecoder::DecodeIsSpace(const Instruction& instruction) {
  if (instruction.operands.size() != 2) return Unknown();
  IsSpaceStep step;
  step.space = SpaceOf(instruction);
  ASSIGN_OR_RETURN(step.predicate, PredicateDestination(instruction.operands[0].name));
  ASSIGN_OR_RETURN(step.address, Source(instruction.operands[1], "u64"));
  return MakeStep(Op::kIsSpace, Pipe::kAlu, program_.is_spaces, step);
}

FunctionDecoder::Decoded FunctionDecoder::DecodeCopyAsync(const Instruction& instruction) {
  if (HasModifier(instruction, "commit_group")) return PlainStep(Op::kCommitAsync, Pipe::kControl);
  if (HasModifier(instruction, "wait_all") || HasModifier(instruction, "wait_group")) {
    SimpleStep wait;
    wait.parameter = kWaitForAll;
    if (HasModifier(instruction, "wait_group")) {
      if (instruction.operands.size() != 1) return Unknown();
      wait.parameter = instruction.operands[0].bits;
    }
    return MakeStep(Op::kWaitAsync, Pipe::kControl, program_.simple, wait);
  }
  const bool plain = HasModifier(instruction, "ca") || HasModifier(instruction, "cg");
  if (!plain || instruction.operands.size() < 3 || instruction.operands[2].kind != Operand::Kind::kImmediate) {
    return Unknown();
  }
  CopyAsyncStep step;
  ASSIGN_OR_RETURN(step.to, Address(instruction.operands[0], Space::kShared));
  ASSIGN_OR_RETURN(step.from, Address(instruction.operands[1], Space::kGlobal));
  step.bytes = static_cast<uint8_t>(instruction.operands[2].bits);
  if (step.bytes != 4 && step.bytes != 8 && step.bytes != 16) {
    return absl::InvalidArgumentError(fmt::format("copies {} bytes, and 4, 8 or 16 are possible", step.bytes));
  }
  if (instruction.operands.size() > 3) {
    const Operand& fourth = instruction.operands[3];
    const Register* named = FindRegister(fourth.name);
    const bool hint = HasModifier(instruction, "L2::cache_hint") && instruction.operands.size() == 4;
    if (named != nullptr && named->predicate) {
      ASSIGN_OR_RETURN(step.ignore_source, PredicateSource(fourth));
    } else if (!hint) {
      ASSIGN_OR_RETURN(step.source_bytes, Source(fourth, "u32"));
    }
  }
  return MakeStep(Op::kCopyAsync, Pipe::kGlobal, program_.copies, step);
}

}  // namespace fsr::sim
