// Logic and shifts.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "worker/device/sim/alu_families.h"
#include "worker/device/sim/alu_map.h"

namespace fsr::sim::alu {
namespace {

template <class T>
T And(T a, T b) {
  return a & b;
}
template <class T>
T Or(T a, T b) {
  return a | b;
}
template <class T>
T Xor(T a, T b) {
  return a ^ b;
}
template <class T>
T Not(T a) {
  return static_cast<T>(~a);
}
template <class T>
T IsZero(T a) {
  return a == 0;
}

// Shift amounts above the width give what shifting bit by bit would.
template <class T>
T ShiftLeft(T a, uint32_t count) {
  return count < 8 * sizeof(T) ? static_cast<T>(uint64_t{a} << count) : T{0};
}
template <class T>
T ShiftRight(T a, uint32_t count) {
  const uint32_t most = static_cast<uint32_t>(8 * sizeof(T));
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(a >> std::min(count, most - 1));
  } else {
    return count < most ? static_cast<T>(a >> count) : T{0};
  }
}

// {b, a} is one 64-bit value; the left shift keeps its upper half.
uint32_t FunnelLeft(uint32_t a, uint32_t b, uint32_t count) {
  return static_cast<uint32_t>((((uint64_t{b} << 32) | a) << count) >> 32);
}
uint32_t FunnelRight(uint32_t a, uint32_t b, uint32_t count) {
  return static_cast<uint32_t>(((uint64_t{b} << 32) | a) >> count);
}
uint32_t FunnelLeftWrap(uint32_t a, uint32_t b, uint32_t count) { return FunnelLeft(a, b, count & 31u); }
uint32_t FunnelRightWrap(uint32_t a, uint32_t b, uint32_t count) { return FunnelRight(a, b, count & 31u); }
uint32_t FunnelLeftClamp(uint32_t a, uint32_t b, uint32_t count) { return FunnelLeft(a, b, std::min(count, 32u)); }
uint32_t FunnelRightClamp(uint32_t a, uint32_t b, uint32_t count) { return FunnelRight(a, b, std::min(count, 32u)); }

template <class T>
uint32_t PopulationCount(T a) {
  return static_cast<uint32_t>(std::popcount(a));
}
template <class T>
uint32_t LeadingZeros(T a) {
  return static_cast<uint32_t>(std::countl_zero(a));
}
template <class T>
T Reverse(T a) {
  uint64_t bits = a;
  bits = ((bits >> 1) & 0x5555555555555555u) | ((bits & 0x5555555555555555u) << 1);
  bits = ((bits >> 2) & 0x3333333333333333u) | ((bits & 0x3333333333333333u) << 2);
  bits = ((bits >> 4) & 0x0f0f0f0f0f0f0f0fu) | ((bits & 0x0f0f0f0f0f0f0f0fu) << 4);
  return static_cast<T>(__builtin_bswap64(bits) >> (64 - 8 * sizeof(T)));
}

// Bit 4a + 2b + c of the table is the result where the sources have the bits a, b and c.
uint32_t LookUp3(Parameter table, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (uint32_t row = 0; row < 8; ++row) {
    const uint32_t chosen = 0u - (static_cast<uint32_t>(table.value >> row) & 1u);
    result |= chosen & ((row & 4u) != 0 ? a : ~a) & ((row & 2u) != 0 ? b : ~b) & ((row & 1u) != 0 ? c : ~c);
  }
  return result;
}

template <bool kAnd>
struct LookUp3WithPredicate {
  static void Run(const AluOperation& operation, const AluArguments& arguments) {
    Lanes result;
    AluArguments whole = arguments;
    whole.destination = &result;
    whole.mask = kFullMask;
    Kernel<&LookUp3>()(operation, whole);
    LaneMask nonzero = 0;
    for (int i = 0; i < kWarpSize; ++i) {
      nonzero |= static_cast<LaneMask>(result.lane[static_cast<size_t>(i)] != 0) << i;
    }
    const LaneMask other = arguments.source_predicates[0];
    const LaneMask predicate = kAnd ? nonzero & other : nonzero | other;
    StoreLanes(arguments.mask, arguments.destination, [&](int i) { return result.lane[static_cast<size_t>(i)]; });
    if (arguments.predicate != nullptr) {
      *arguments.predicate = (predicate & arguments.mask) | (*arguments.predicate & ~arguments.mask);
    }
  }
};

enum class Logic { kAnd, kOr, kXor, kNot };

template <Logic kLogic>
struct PredicateBody {
  static void Run(const AluOperation&, const AluArguments& arguments) {
    const LaneMask a = arguments.source_predicates[0], b = arguments.source_predicates[1];
    const LaneMask result = kLogic == Logic::kAnd   ? a & b
                            : kLogic == Logic::kOr  ? a | b
                            : kLogic == Logic::kXor ? a ^ b
                                                    : ~a;
    if (arguments.predicate == nullptr) return;
    *arguments.predicate = (result & arguments.mask) | (*arguments.predicate & ~arguments.mask);
  }
};

absl::StatusOr<AluOperation> DecodePredicateLogic(Reader& reader, std::string_view opcode) {
  AluOperation operation;
  using B = AluBinding;
  if (opcode == "not") {
    operation.function = &PredicateBody<Logic::kNot>::Run;
    return reader.Finish(operation, {B::kPredicate, B::kSourcePredicate}, {});
  }
  if (opcode == "and") operation.function = &PredicateBody<Logic::kAnd>::Run;
  if (opcode == "or") operation.function = &PredicateBody<Logic::kOr>::Run;
  if (opcode == "xor") operation.function = &PredicateBody<Logic::kXor>::Run;
  return reader.Finish(operation, {B::kPredicate, B::kSourcePredicate, B::kSourcePredicate}, {});
}

}  // namespace

absl::StatusOr<AluOperation> DecodeLogic(Reader& reader) {
  const std::string_view opcode = reader.instruction().opcode;
  const std::optional<Type> type = reader.TakeType();
  if (!type) return reader.Unknown();
  if (*type == Type::kPredicate) return DecodePredicateLogic(reader, opcode);
  AluOperation operation;
  operation.function = ForWidth(*type, [&](auto zero) -> AluFunction {
    using T = decltype(zero);
    if (opcode == "and") return Kernel<&And<T>>();
    if (opcode == "or") return Kernel<&Or<T>>();
    if (opcode == "xor") return Kernel<&Xor<T>>();
    return opcode == "not" ? Kernel<&Not<T>>() : Kernel<&IsZero<T>>();
  });
  if (opcode == "not" || opcode == "cnot") return reader.Finish(operation, {*type});
  return reader.Finish(operation, {*type, *type});
}

absl::StatusOr<AluOperation> DecodeLop3(Reader& reader) {
  using B = AluBinding;
  const std::optional<int> combine = reader.TakeOneOf({"and", "or"});
  if (reader.TakeType() != Type::kB32 || reader.operand_count() < 5) return reader.Unknown();
  AluOperation operation;
  operation.parameter = reader.instruction().operands[4].bits & 0xffu;
  if (!combine) {
    operation.function = Kernel<&LookUp3>();
    return reader.Finish(operation, {B::kDestination, B::kSource, B::kSource, B::kSource, B::kParameter},
                         {Type::kB32, Type::kB32, Type::kB32});
  }
  operation.function = *combine == 0 ? &LookUp3WithPredicate<true>::Run : &LookUp3WithPredicate<false>::Run;
  return reader.Finish(operation,
                       {B::kDestination, B::kSource, B::kSource, B::kSource, B::kParameter, B::kSourcePredicate},
                       {Type::kB32, Type::kB32, Type::kB32});
}

absl::StatusOr<AluOperation> DecodeShift(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  if (!type) return reader.Unknown();
  AluOperation operation;
  if (reader.instruction().opcode == "shl") {
    operation.function = ForWidth(*type, [](auto zero) { return Kernel<&ShiftLeft<decltype(zero)>>(); });
  } else if (IsSigned(*type)) {
    operation.function = ForInteger(*type, [](auto zero) { return Kernel<&ShiftRight<decltype(zero)>>(); });
  } else {
    operation.function = ForWidth(*type, [](auto zero) { return Kernel<&ShiftRight<decltype(zero)>>(); });
  }
  return reader.Finish(operation, {*type, Type::kU32});
}

absl::StatusOr<AluOperation> DecodeFunnelShift(Reader& reader) {
  const std::optional<int> direction = reader.TakeOneOf({"l", "r"}), mode = reader.TakeOneOf({"wrap", "clamp"});
  if (!direction || !mode || reader.TakeType() != Type::kB32) return reader.Unknown();
  AluOperation operation;
  if (*direction == 0) {
    operation.function = *mode == 0 ? Kernel<&FunnelLeftWrap>() : Kernel<&FunnelLeftClamp>();
  } else {
    operation.function = *mode == 0 ? Kernel<&FunnelRightWrap>() : Kernel<&FunnelRightClamp>();
  }
  return reader.Finish(operation, {Type::kB32, Type::kB32, Type::kU32});
}

absl::StatusOr<AluOperation> DecodeCount(Reader& reader) {
  const std::string_view opcode = reader.instruction().opcode;
  const std::optional<Type> type = reader.TakeType();
  if (type != Type::kB32 && type != Type::kB64) return reader.Unknown();
  AluOperation operation;
  operation.function = ForWidth(*type, [&](auto zero) {
    using T = decltype(zero);
    if (opcode == "popc") return Kernel<&PopulationCount<T>>();
    return opcode == "clz" ? Kernel<&LeadingZeros<T>>() : Kernel<&Reverse<T>>();
  });
  return reader.Finish(operation, {*type});
}

}  // namespace fsr::sim::alu
