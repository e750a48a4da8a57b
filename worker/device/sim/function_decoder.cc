#include "worker/device/sim/function_decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/status.h"
#include "common/status_macros.h"

namespace fsr::sim {
namespace {

// Frames' local variables begin at multiples of this.
constexpr uint32_t kLocalAlignment = 16;

uint32_t AlignUp(uint64_t value, uint64_t alignment) {
  return static_cast<uint32_t>((value + alignment - 1) / alignment * alignment);
}

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

FunctionDecoder::FunctionDecoder(ProgramDecoder& shared, const ptx::Function& function, uint32_t function_index)
    : shared_(shared), program_(shared.program), function_(function), function_index_(function_index) {
  code_ = program_.functions[function_index];
}

void FunctionDecoder::LayOutRegisters() {
  for (const auto& [name, declaration] : function_.registers) {
    Register slot;
    if (declaration.type == "pred") {
      slot.predicate = true;
      slot.index = code_.predicate_count++;
    } else {
      slot.bits = TypeBytes(declaration.type) * 8;
      slot.index = code_.register_count;
      code_.register_count += declaration.type == "b128" ? 2 : 1;
    }
    registers_.emplace(name, slot);
  }
}

void FunctionDecoder::LayOutParameters() {
  const auto add = [&](const ptx::Variable& variable) {
    ParameterSlot slot{variable.name, AlignUp(code_.parameter_bytes, std::max(variable.alignment, 1u)),
                       static_cast<uint32_t>(variable.bytes())};
    code_.parameter_bytes = slot.offset + slot.bytes;
    parameters_.emplace(variable.name, slot);
    return slot;
  };
  if (!function_.is_entry) {
    for (const ptx::Variable& parameter : function_.parameters) code_.parameters.push_back(add(parameter));
    for (const ptx::Variable& value : function_.returns) code_.returns.push_back(add(value));
  }
  for (const ptx::Variable& variable : function_.variables) {
    if (variable.space == ptx::StateSpace::kParam) add(variable);
  }
  code_.parameter_bytes = AlignUp(code_.parameter_bytes, kLocalAlignment);
}

void FunctionDecoder::LayOutLocals() {
  for (const ptx::Variable& variable : function_.variables) {
    if (variable.space != ptx::StateSpace::kLocal) continue;
    const uint32_t offset = AlignUp(code_.local_bytes, std::max(variable.alignment, 1u));
    locals_.emplace(variable.name, offset);
    code_.local_bytes = offset + static_cast<uint32_t>(variable.bytes());
  }
  code_.local_bytes = AlignUp(code_.local_bytes, kLocalAlignment);
}

void FunctionDecoder::Decode() {
  LayOutRegisters();
  LayOutParameters();
  LayOutLocals();
  hidden_opcode_ = shared_.Opcode("");
  const uint32_t first = static_cast<uint32_t>(program_.steps.size());
  code_.first_step = first;
  for (const Instruction& instruction : function_.instructions) {
    first_step_of_.push_back(static_cast<uint32_t>(program_.steps.size()));
    current_line_ = instruction.source_line;
    Decoded decoded = DecodeOne(instruction);
    Step step;
    if (decoded.ok()) {
      step = *decoded;
      const absl::Status guard = BindGuard(instruction, step);
      if (!guard.ok()) decoded = guard;
    }
    if (!decoded.ok()) {
      const std::string reason = MessageOf(decoded.status());
      step = MakeStep(Op::kUnsupported, Pipe::kControl, program_.unsupported,
                      fmt::format("{} {}", instruction.full, reason));
    }
    step.line = current_line_;
    step.opcode = shared_.Opcode(instruction.full);
    program_.steps.push_back(step);
  }
  // Code that falls off its end returns.
  first_step_of_.push_back(static_cast<uint32_t>(program_.steps.size()));
  Step end = PlainStep(Op::kReturn, Pipe::kControl);
  end.opcode = hidden_opcode_;
  program_.steps.push_back(end);

  for (uint32_t i = first; i < program_.steps.size(); ++i) {
    Step& step = program_.steps[i];
    if (step.op == Op::kBranch) step.target = first_step_of_[step.target];
    if (step.op != Op::kBranchIndexed) continue;
    for (uint32_t& target : program_.branch_tables[step.detail].targets) target = first_step_of_[target];
  }
  program_.functions[function_index_] = code_;
}

absl::Status FunctionDecoder::BindGuard(const Instruction& instruction, Step& step) {
  if (!instruction.guard.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const PredicateRef guard, PredicateSource(*instruction.guard));
  step.guard = guard.index;
  step.guard_inverted = guard.inverted;
  return absl::OkStatus();
}

FunctionDecoder::Decoded FunctionDecoder::DecodeOne(const Instruction& instruction) {
  const std::string& opcode = instruction.opcode;
  if (IsOneOf(opcode, {"ld", "ldu", "st"})) return DecodeAccess(instruction);
  if (IsOneOf(opcode, {"atom", "red"})) return DecodeAtomic(instruction);
  if (opcode == "cvta") return DecodeConvertAddress(instruction);
  if (opcode == "isspacep") return DecodeIsSpace(instruction);
  if (IsOneOf(opcode, {"bra", "brx"})) return DecodeBranch(instruction);
  if (opcode == "call") return DecodeCall(instruction);
  if (opcode == "ret") return PlainStep(Op::kReturn, Pipe::kControl);
  if (opcode == "exit") return PlainStep(Op::kExit, Pipe::kControl);
  if (IsOneOf(opcode, {"trap", "brkpt"})) return PlainStep(Op::kTrap, Pipe::kControl);
  if (IsOneOf(opcode, {"bar", "barrier"})) return DecodeBarrier(instruction);
  if (IsOneOf(opcode, {"shfl", "vote", "match", "redux", "elect"})) return DecodeExchange(instruction);
  if (IsOneOf(opcode, {"membar", "fence"})) return PlainStep(Op::kFence, Pipe::kBarrier);
  if (opcode == "cp" && HasModifier(instruction, "async")) return DecodeCopyAsync(instruction);
  if (IsOneOf(opcode, {"mma", "wmma", "ldmatrix", "stmatrix"})) return DecodeMatrix(instruction);
  // Hints about caches, scheduling and profiling change nothing that a kernel can see.
  if (IsOneOf(opcode,
              {"prefetch", "prefetchu", "discard", "applypriority", "pmevent", "griddepcontrol", "setmaxnreg"})) {
    return PlainStep(Op::kNothing, Pipe::kControl);
  }
  SimpleStep simple;
  if (opcode == "activemask" || opcode == "createpolicy") {
    if (instruction.operands.empty()) return Unknown();
    ASSIGN_OR_RETURN(simple.destination, Destination(instruction.operands[0]));
    if (opcode == "createpolicy") return PlainStep(Op::kNothing, Pipe::kAlu);
    return MakeStep(Op::kActiveMask, Pipe::kShuffle, program_.simple, simple);
  }
  if (opcode == "nanosleep") {
    if (instruction.operands.size() != 1) return Unknown();
    ASSIGN_OR_RETURN(simple.value, Source(instruction.operands[0], "u32"));
    return MakeStep(Op::kSleep, Pipe::kControl, program_.simple, simple);
  }
  return DecodeAlu(instruction);
}

}  // namespace fsr::sim
