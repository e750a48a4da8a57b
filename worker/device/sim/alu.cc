#include "worker/device/sim/alu.h"

#include <bit>

#include "worker/device/sim/alu_families.h"
#include "worker/device/sim/alu_formats.h"

namespace fsr::sim {
namespace {

using alu::Decoder;
using alu::Kind;
using alu::Type;

struct Entry {
  std::string_view opcode;
  Decoder integer = nullptr;  // also where the opcode takes no type or one of bits
  Decoder single = nullptr;   // f32, f64
  Decoder half = nullptr;     // f16, bf16 and pairs
};

constexpr Entry kEntries[] = {
    {"add", alu::DecodeIntegerAddSub, alu::DecodeFloatArithmetic, alu::DecodeHalfArithmetic},
    {"sub", alu::DecodeIntegerAddSub, alu::DecodeFloatArithmetic, alu::DecodeHalfArithmetic},
    {"mul", alu::DecodeIntegerMul, alu::DecodeFloatArithmetic, alu::DecodeHalfArithmetic},
    {"mad", alu::DecodeIntegerMad, alu::DecodeFloatArithmetic},
    {"fma", nullptr, alu::DecodeFloatArithmetic, alu::DecodeHalfArithmetic},
    {"addc", alu::DecodeCarry},
    {"subc", alu::DecodeCarry},
    {"madc", alu::DecodeCarry},
    {"mul24", alu::DecodeMul24},
    {"mad24", alu::DecodeMul24},
    {"sad", alu::DecodeSad},
    {"div", alu::DecodeIntegerBinary, alu::DecodeFloatDivide},
    {"rem", alu::DecodeIntegerBinary},
    {"rcp", nullptr, alu::DecodeFloatDivide},
    {"sqrt", nullptr, alu::DecodeFloatDivide},
    {"rsqrt", nullptr, alu::DecodeFloatDivide},
    {"abs", alu::DecodeIntegerUnary, alu::DecodeFloatSign, alu::DecodeHalfUnary},
    {"neg", alu::DecodeIntegerUnary, alu::DecodeFloatSign, alu::DecodeHalfUnary},
    {"copysign", nullptr, alu::DecodeFloatSign},
    {"testp", nullptr, alu::DecodeTestp},
    {"min", alu::DecodeIntegerMinMax, alu::DecodeFloatMinMax, alu::DecodeHalfMinMax},
    {"max", alu::DecodeIntegerMinMax, alu::DecodeFloatMinMax, alu::DecodeHalfMinMax},
    {"sin", nullptr, alu::DecodeTranscendental},
    {"cos", nullptr, alu::DecodeTranscendental},
    {"lg2", nullptr, alu::DecodeTranscendental},
    {"ex2", nullptr, alu::DecodeTranscendental, alu::DecodeHalfUnary},
    {"tanh", nullptr, alu::DecodeTranscendental, alu::DecodeHalfUnary},
    {"dp4a", alu::DecodeDotProduct},
    {"dp2a", alu::DecodeDotProduct},
    {"and", alu::DecodeLogic},
    {"or", alu::DecodeLogic},
    {"xor", alu::DecodeLogic},
    {"not", alu::DecodeLogic},
    {"cnot", alu::DecodeLogic},
    {"lop3", alu::DecodeLop3},
    {"shl", alu::DecodeShift},
    {"shr", alu::DecodeShift},
    {"shf", alu::DecodeFunnelShift},
    {"popc", alu::DecodeCount},
    {"clz", alu::DecodeCount},
    {"brev", alu::DecodeCount},
    {"bfe", alu::DecodeBitField},
    {"bfi", alu::DecodeBitField},
    {"bfind", alu::DecodeBfind},
    {"fns", alu::DecodeFns},
    {"prmt", alu::DecodePrmt},
    {"bmsk", alu::DecodeMaskAndExtend},
    {"szext", alu::DecodeMaskAndExtend},
    {"setp", alu::DecodeSetp, alu::DecodeSetp, alu::DecodeSetp},
    {"set", alu::DecodeSet, alu::DecodeSet, alu::DecodeSet},
    {"mov", alu::DecodeMov, alu::DecodeMov},
    {"selp", alu::DecodeSelp, alu::DecodeSelp},
    {"slct", alu::DecodeSlct, alu::DecodeSlct},
};

bool Has(const ptx::Instruction& instruction, std::string_view modifier) {
  for (const std::string& each : instruction.modifiers) {
    if (each == modifier) return true;
  }
  return false;
}

Decoder CvtDecoder(const ptx::Instruction& instruction) {
  if (Has(instruction, "pack")) return alu::DecodePackedCvt;
  for (const std::string& modifier : instruction.modifiers) {
    const std::optional<Type> type = alu::TypeOf(modifier);
    if (type && alu::IsPacked(*type)) return alu::DecodePackedCvt;
  }
  return alu::DecodeCvt;
}

// By the last modifier that is a type: that of the sources.
Kind KindOf(const ptx::Instruction& instruction) {
  Kind kind = Kind::kInteger;
  for (const std::string& modifier : instruction.modifiers) {
    if (const std::optional<Type> type = alu::TypeOf(modifier)) kind = alu::KindOf(*type);
  }
  return kind;
}

Decoder DecoderOf(const ptx::Instruction& instruction) {
  if (instruction.opcode == "cvt") return CvtDecoder(instruction);
  if (Has(instruction, "cc")) return alu::DecodeCarry;
  for (const Entry& entry : kEntries) {
    if (entry.opcode != instruction.opcode) continue;
    const Kind kind = KindOf(instruction);
    return kind == Kind::kInteger ? entry.integer : kind == Kind::kFloat ? entry.single : entry.half;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<AluOperation> FindAlu(const ptx::Instruction& instruction) {
  alu::Reader reader(instruction);
  const Decoder decoder = DecoderOf(instruction);
  return decoder == nullptr ? reader.Unknown() : decoder(reader);
}

uint64_t ImmediateLane(const ptx::Operand& operand, std::string_view type) {
  const std::optional<Type> known = alu::TypeOf(type);
  const int bits = known ? alu::BitsOf(*known) : 64;
  const uint64_t width = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (!operand.is_float || bits >= 64) return operand.bits & width;
  const double value = std::bit_cast<double>(operand.bits);
  if (known == Type::kBF16) return alu::Raw(alu::Nearest<alu::BF16>(value));
  if (bits == 16) return alu::Raw(alu::Nearest<alu::F16>(value));
  // Not ToLane: the literal of a NaN keeps its bits. It was widened exactly, and so becomes what it was.
  if (bits == 32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  return operand.bits & width;
}

}  // namespace fsr::sim
