// Operands as written into register slots, constants and memory operands.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/status_macros.h"
#include "worker/device/sim/address_space.h"
#include "worker/device/sim/function_decoder.h"

namespace fsr::sim {

bool HasModifier(const ptx::Instruction& instruction, std::string_view modifier) {
  return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), modifier) != instruction.modifiers.end();
}

uint32_t TypeBytes(std::string_view type) {
  static const std::map<std::string_view, uint32_t> kTypes = {
      {"b8", 1},   {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2},   {"f16", 2},
      {"bf16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4}, {"f16x2", 4}, {"bf16x2", 4},
      {"tf32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}, {"b128", 16}};
  const auto found = kTypes.find(type);
  return found == kTypes.end() ? 0 : found->second;
}

std::string_view TypeOf(const ptx::Instruction& instruction) {
  for (auto modifier = instruction.modifiers.rbegin(); modifier != instruction.modifiers.rend(); ++modifier) {
    if (TypeBytes(*modifier) != 0) return *modifier;
  }
  return {};
}

ValueRef ProgramDecoder::Constant(uint64_t value) {
  const auto [entry, is_new] = constants.try_emplace(value, static_cast<uint32_t>(program.constants.size()));
  if (is_new) {
    Lanes lanes;
    lanes.lane.fill(value);
    program.constants.push_back(lanes);
  }
  return {ValueRef::kConstant, entry->second};
}

uint32_t ProgramDecoder::Opcode(const std::string& full) {
  const auto [entry, is_new] = opcodes.try_emplace(full, static_cast<uint32_t>(program.opcodes.size()));
  if (is_new) program.opcodes.push_back(full);
  return entry->second;
}

const FunctionDecoder::Register* FunctionDecoder::FindRegister(const std::string& name) const {
  const auto found = registers_.find(name);
  return found == registers_.end() ? nullptr : &found->second;
}

const ParameterSlot* FunctionDecoder::FindParameter(std::string_view name) const {
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? nullptr : &found->second;
}

ValueRef FunctionDecoder::Temporary() { return {ValueRef::kRegister, code_.register_count++}; }

absl::StatusOr<ValueRef> FunctionDecoder::Destination(const Operand& operand) {
  if (operand.kind == Operand::Kind::kSink) return ValueRef{ValueRef::kRegister, kSinkRegister};
  const Register* found = operand.kind == Operand::Kind::kRegister ? FindRegister(operand.name) : nullptr;
  if (found == nullptr || found->predicate) {
    return absl::InvalidArgumentError(
        fmt::format("writes to {}, which is not a register that holds a value", operand.name));
  }
  return ValueRef{ValueRef::kRegister, found->index};
}

absl::StatusOr<uint16_t> FunctionDecoder::PredicateDestination(const std::string& name) {
  if (name.empty() || name == "_") return kSinkPredicate;
  const Register* found = FindRegister(name);
  if (found == nullptr || !found->predicate) {
    return absl::InvalidArgumentError(fmt::format("writes to {}, which is not a predicate", name));
  }
  return static_cast<uint16_t>(found->index);
}

absl::StatusOr<PredicateRef> FunctionDecoder::PredicateSource(const Operand& operand) {
  if (operand.kind == Operand::Kind::kImmediate) {
    return PredicateRef{kTruePredicate, operand.bits != 0 ? 0 : kFullMask};
  }
  const Register* found = operand.kind == Operand::Kind::kRegister ? FindRegister(operand.name) : nullptr;
  if (found == nullptr || !found->predicate) {
    return absl::InvalidArgumentError(fmt::format("reads {} as a predicate, which it is not", operand.name));
  }
  return PredicateRef{static_cast<uint16_t>(found->index), operand.negated ? kFullMask : 0};
}

// A clock or the address of a local variable is not a constant of the warp: a step of our own puts it into a register
// first.
absl::StatusOr<ValueRef> FunctionDecoder::Source(const Operand& operand, std::string_view type) {
  switch (operand.kind) {
    case Operand::Kind::kImmediate:
      return shared_.Constant(ImmediateLane(operand, type));
    case Operand::Kind::kSymbol:
      return SymbolValue(operand);
    case Operand::Kind::kRegister:
      break;
    default:
      return absl::UnimplementedError("has an operand of a kind that is not known here");
  }
  if (const Register* found = FindRegister(operand.name)) {
    if (found->predicate)
      return absl::InvalidArgumentError(fmt::format("reads the predicate {} as a value", operand.name));
    return ValueRef{ValueRef::kRegister, found->index};
  }
  if (operand.name == "WARP_SZ") return shared_.Constant(kWarpSize);
  static constexpr std::string_view kClocks[] = {"%clock",       "%clock_hi",       "%clock64",
                                                 "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"};
  if (std::find(std::begin(kClocks), std::end(kClocks), operand.name) != std::end(kClocks)) {
    SimpleStep clock{.destination = Temporary(), .value = {}, .parameter = operand.name.ends_with("_hi") ? 32u : 0u};
    Step step = MakeStep(Op::kClock, Pipe::kAlu, program_.simple, clock);
    step.line = current_line_;
    step.opcode = hidden_opcode_;
    program_.steps.push_back(step);
    return clock.destination;
  }
  const std::optional<SpecialRegister> special = FindSpecialRegister(operand.name);
  if (!special.has_value())
    return absl::UnimplementedError(fmt::format("reads {}, which is not known here", operand.name));
  const auto [entry, is_new] = shared_.specials.try_emplace(*special, static_cast<uint32_t>(program_.specials.size()));
  if (is_new) program_.specials.push_back(*special);
  return ValueRef{ValueRef::kSpecial, entry->second};
}

absl::StatusOr<ValueRef> FunctionDecoder::LocalVariableAddress(uint64_t offset) {
  SimpleStep address{.destination = Temporary(), .value = {}, .parameter = offset};
  Step step = MakeStep(Op::kLocalAddress, Pipe::kAlu, program_.simple, address);
  step.line = current_line_;
  step.opcode = hidden_opcode_;
  program_.steps.push_back(step);
  return address.destination;
}

absl::StatusOr<ValueRef> FunctionDecoder::SymbolValue(const Operand& operand) {
  const uint64_t offset = static_cast<uint64_t>(operand.offset);
  if (operand.name == "WARP_SZ") return shared_.Constant(kWarpSize);
  if (const auto local = locals_.find(operand.name); local != locals_.end()) {
    return LocalVariableAddress(local->second + offset);
  }
  if (const auto found = shared_.shared_offsets.find(operand.name); found != shared_.shared_offsets.end()) {
    return shared_.Constant(found->second + offset);
  }
  if (const auto found = shared_.symbols.find(operand.name); found != shared_.symbols.end()) {
    return shared_.Constant(found->second + offset);
  }
  if (function_.is_entry) {
    for (const ParameterSlot& parameter : program_.parameters) {
      if (parameter.name == operand.name) return shared_.Constant(kParameterBegin + parameter.offset + offset);
    }
  }
  if (const uint64_t address = FunctionAddress(shared_.module, operand.name)) return shared_.Constant(address);
  return absl::UnimplementedError(fmt::format("takes the address of {}, which is not known here", operand.name));
}

absl::StatusOr<MemoryOperand> FunctionDecoder::Address(const Operand& operand, Space space) {
  if (operand.kind != Operand::Kind::kAddress) return absl::InvalidArgumentError("has no address where one must stand");
  MemoryOperand where;
  where.space = space;
  where.offset = static_cast<uint64_t>(operand.offset);
  if (operand.name.empty()) return where;
  if (!operand.is_symbol_base) {
    Operand base;
    base.name = operand.name;
    ASSIGN_OR_RETURN(where.base, Source(base, "b64"));
    const Register* found = FindRegister(operand.name);
    where.narrow = found != nullptr && found->bits == 32;
    return where;
  }
  if (const auto local = locals_.find(operand.name); local != locals_.end() && space == Space::kLocal) {
    where.offset += local->second;
    where.frame_relative = true;
    return where;
  }
  if (space == Space::kKernelParameter) {
    const ParameterSlot* of_frame = FindParameter(operand.name);
    if (of_frame != nullptr) {
      where.space = Space::kFrameParameter;
      where.offset += of_frame->offset;
      return where;
    }
  }
  Operand symbol;
  symbol.kind = Operand::Kind::kSymbol;
  symbol.name = operand.name;
  symbol.offset = operand.offset;
  where.offset = 0;
  ASSIGN_OR_RETURN(where.base, SymbolValue(symbol));
  return where;
}

absl::Status FunctionDecoder::Unknown() { return absl::UnimplementedError("is not simulated"); }

}  // namespace fsr::sim
