// The decoders of the instruction families; alu.cc says which opcode belongs to which.
#pragma once

#include "worker/device/sim/alu_decode.h"

namespace fsr::sim::alu {

// alu_integer.cc
absl::StatusOr<AluOperation> DecodeIntegerAddSub(Reader& reader);  // add, sub
absl::StatusOr<AluOperation> DecodeIntegerMul(Reader& reader);
absl::StatusOr<AluOperation> DecodeIntegerMad(Reader& reader);
absl::StatusOr<AluOperation> DecodeMul24(Reader& reader);          // mul24, mad24
absl::StatusOr<AluOperation> DecodeIntegerBinary(Reader& reader);  // div, rem
absl::StatusOr<AluOperation> DecodeIntegerMinMax(Reader& reader);  // min, max
absl::StatusOr<AluOperation> DecodeIntegerUnary(Reader& reader);   // abs, neg
absl::StatusOr<AluOperation> DecodeSad(Reader& reader);
absl::StatusOr<AluOperation> DecodeDotProduct(Reader& reader);  // dp4a, dp2a

// alu_carry.cc: add, sub and mad with .cc, addc, subc, madc
absl::StatusOr<AluOperation> DecodeCarry(Reader& reader);

// alu_bits.cc
absl::StatusOr<AluOperation> DecodeLogic(Reader& reader);  // and, or, xor, not, cnot
absl::StatusOr<AluOperation> DecodeLop3(Reader& reader);
absl::StatusOr<AluOperation> DecodeShift(Reader& reader);        // shl, shr
absl::StatusOr<AluOperation> DecodeFunnelShift(Reader& reader);  // shf
absl::StatusOr<AluOperation> DecodeCount(Reader& reader);        // popc, clz, brev

// alu_fields.cc
absl::StatusOr<AluOperation> DecodeBitField(Reader& reader);  // bfe, bfi
absl::StatusOr<AluOperation> DecodeBfind(Reader& reader);
absl::StatusOr<AluOperation> DecodeFns(Reader& reader);
absl::StatusOr<AluOperation> DecodePrmt(Reader& reader);
absl::StatusOr<AluOperation> DecodeMaskAndExtend(Reader& reader);  // bmsk, szext

// alu_float.cc
absl::StatusOr<AluOperation> DecodeFloatArithmetic(Reader& reader);  // add, sub, mul, fma, mad
absl::StatusOr<AluOperation> DecodeFloatDivide(Reader& reader);      // div, rcp, sqrt, rsqrt
absl::StatusOr<AluOperation> DecodeFloatMinMax(Reader& reader);
absl::StatusOr<AluOperation> DecodeFloatSign(Reader& reader);  // abs, neg, copysign
absl::StatusOr<AluOperation> DecodeTestp(Reader& reader);

// alu_approx.cc
absl::StatusOr<AluOperation> DecodeTranscendental(Reader& reader);  // sin, cos, lg2, ex2, tanh

// alu_half.cc
absl::StatusOr<AluOperation> DecodeHalfArithmetic(Reader& reader);  // add, sub, mul, fma; f32 with f16 too
absl::StatusOr<AluOperation> DecodeHalfMinMax(Reader& reader);
absl::StatusOr<AluOperation> DecodeHalfUnary(Reader& reader);  // abs, neg, ex2, tanh

// alu_compare.cc
absl::StatusOr<AluOperation> DecodeSetp(Reader& reader);
absl::StatusOr<AluOperation> DecodeSet(Reader& reader);

// alu_move.cc
absl::StatusOr<AluOperation> DecodeMov(Reader& reader);
absl::StatusOr<AluOperation> DecodeSelp(Reader& reader);
absl::StatusOr<AluOperation> DecodeSlct(Reader& reader);

// alu_convert.cc
absl::StatusOr<AluOperation> DecodeCvt(Reader& reader);
// alu_convert_packed.cc: cvt with a packed type, and cvt.pack
absl::StatusOr<AluOperation> DecodePackedCvt(Reader& reader);

}  // namespace fsr::sim::alu
