// Decodes the instructions of one function. The decode_*.cc files each hold the instructions of one family.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/device/sim/decode.h"
#include "worker/device/sim/program.h"
#include "worker/device/sim/ptx/module.h"

namespace fsr::sim {

struct Fragment;  // matrix.h

// What the functions of a program share while they are decoded.
struct ProgramDecoder {
  const ptx::Module& module;
  const SymbolAddresses& symbols;
  Program program;
  std::map<std::string, uint32_t, std::less<>> functions;       // name -> index in program.functions
  std::map<std::string, uint32_t, std::less<>> shared_offsets;  // of shared variables
  std::map<uint64_t, uint32_t> constants;                       // value -> index
  std::map<std::string, uint32_t, std::less<>> opcodes;
  std::map<SpecialRegister, uint32_t> specials;

  ValueRef Constant(uint64_t value);
  uint32_t Opcode(const std::string& full);
};

class FunctionDecoder {
 public:
  FunctionDecoder(ProgramDecoder& shared, const ptx::Function& function, uint32_t function_index);

  // Appends the function's steps to the program.
  void Decode();

 private:
  struct Register {
    bool predicate = false;
    uint32_t index = 0;
    uint32_t bits = 0;
  };
  using Instruction = ptx::Instruction;
  using Operand = ptx::Operand;
  using Decoded = absl::StatusOr<Step>;

  void LayOutRegisters();
  void LayOutParameters();
  void LayOutLocals();
  Decoded DecodeOne(const Instruction& instruction);
  absl::Status BindGuard(const Instruction& instruction, Step& step);

  // Families; each is asked only for its own opcodes.
  Decoded DecodeAlu(const Instruction& instruction);  // decode_alu.cc
  absl::Status BindAluOperand(const Operand& operand, AluBinding binding, AluStep& step, size_t& predicate_count);
  Decoded DecodeAccess(const Instruction& instruction);  // decode_memory.cc
  Decoded DecodeAtomic(const Instruction& instruction);
  Decoded DecodeConvertAddress(const Instruction& instruction);  // cvta
  Decoded DecodeIsSpace(const Instruction& instruction);
  Decoded DecodeCopyAsync(const Instruction& instruction);
  Decoded DecodeBranch(const Instruction& instruction);  // decode_control.cc
  Decoded DecodeCall(const Instruction& instruction);
  Decoded DecodeBarrier(const Instruction& instruction);
  Decoded DecodeExchange(const Instruction& instruction);  // decode_exchange.cc
  Decoded DecodeShuffle(const Instruction& instruction, bool sync);
  Decoded DecodeVote(const Instruction& instruction, bool sync);
  Decoded DecodeMatrix(const Instruction& instruction);  // decode_matrix.cc
  Decoded DecodeMultiply(const Instruction& instruction, bool wmma);
  Decoded DecodeMatrixAccess(const Instruction& instruction);
  Decoded DecodeEights(const Instruction& instruction);
  absl::Status BindFragment(const Operand& operand, bool destination, Fragment& fragment);

  // Operands. UNIMPLEMENTED or INVALID_ARGUMENT say what is wrong with one.
  absl::StatusOr<ValueRef> Source(const Operand& operand, std::string_view type);
  absl::StatusOr<ValueRef> Destination(const Operand& operand);
  absl::StatusOr<PredicateRef> PredicateSource(const Operand& operand);
  absl::StatusOr<uint16_t> PredicateDestination(const std::string& name);
  absl::StatusOr<MemoryOperand> Address(const Operand& operand, Space space);
  absl::StatusOr<ValueRef> SymbolValue(const Operand& operand);
  absl::StatusOr<ValueRef> LocalVariableAddress(uint64_t offset);
  const Register* FindRegister(const std::string& name) const;
  ValueRef Temporary();  // a register of our own
  const ParameterSlot* FindParameter(std::string_view name) const;
  static absl::Status Unknown();

  template <typename Detail>
  static Step MakeStep(Op op, Pipe pipe, std::vector<Detail>& table, Detail detail) {
    table.push_back(std::move(detail));
    Step step;
    step.op = op;
    step.pipe = pipe;
    step.detail = static_cast<uint32_t>(table.size() - 1);
    return step;
  }
  static Step PlainStep(Op op, Pipe pipe) {
    Step step;
    step.op = op;
    step.pipe = pipe;
    return step;
  }

  ProgramDecoder& shared_;
  Program& program_;
  const ptx::Function& function_;
  uint32_t function_index_;
  FunctionCode code_;
  std::map<std::string, Register, std::less<>> registers_;
  std::map<std::string, uint32_t, std::less<>> locals_;           // variable -> offset in the frame's local memory
  std::map<std::string, ParameterSlot, std::less<>> parameters_;  // in the frame's parameter space
  std::vector<uint32_t> first_step_of_;                           // by instruction
  uint32_t current_line_ = 0;
  uint32_t hidden_opcode_ = 0;
};

// The space that the modifiers name; ".shared::cluster" is the block's own: clusters are single blocks here.
Space SpaceOf(const ptx::Instruction& instruction);
bool HasModifier(const ptx::Instruction& instruction, std::string_view modifier);
// The bytes of "f32", "b128", "bf16x2" …; 0 if it is no type.
uint32_t TypeBytes(std::string_view type);
// The last modifier that is a type; empty if there is none.
std::string_view TypeOf(const ptx::Instruction& instruction);

}  // namespace fsr::sim
