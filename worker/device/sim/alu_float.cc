// Arithmetic on f32 and f64. Each operation is rounded once, by the machine: std::fma is fused, and other roundings
// than to nearest run under the machine's rounding mode.
#include "worker/device/sim/alu_float.h"

#include "worker/device/sim/alu_families.h"

namespace fsr::sim::alu {
namespace {

template <class T>
T Add(T a, T b) {
  return a + b;
}
template <class T>
T Subtract(T a, T b) {
  return a - b;
}
template <class T>
T Multiply(T a, T b) {
  return a * b;
}
template <class T>
T FusedMultiplyAdd(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <class T>
T Divide(T a, T b) {
  return a / b;
}
template <class T>
T Reciprocal(T a) {
  return T{1} / a;
}
template <class T>
T SquareRoot(T a) {
  return std::sqrt(a);
}

// The approximations are right to the last bit here: a GPU differs by up to 2 ulp for div.approx and div.full, 1 ulp
// for rcp.approx and sqrt.approx, 2 ulp for rsqrt.approx.
float ApproximateQuotient(float a, float b) {
  const float magnitude = std::fabs(b);
  if (magnitude > 0x1p126f && magnitude < HUGE_VALF) {  // documented: 1/b is flushed before it is multiplied by a
    return a * std::copysign(0.0f, b);
  }
  return a / b;
}
float ReciprocalRoot(float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }
double ReciprocalRootDouble(double a) { return static_cast<double>(1.0L / std::sqrt(static_cast<long double>(a))); }

// The gross approximations of f64 read and write only the upper word.
double FlushToUpperWord(double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const bool subnormal = (bits >> 52 & 0x7ffu) == 0;
  const bool nan = value != value;
  return std::bit_cast<double>(nan         ? uint64_t{0x7fffffff00000000u}
                               : subnormal ? bits & 0x8000000000000000u
                                           : bits & 0xffffffff00000000u);
}
double GrossReciprocal(double a) { return FlushToUpperWord(1.0 / FlushToUpperWord(a)); }
double GrossReciprocalRoot(double a) { return FlushToUpperWord(ReciprocalRootDouble(FlushToUpperWord(a))); }

// One operation of f32 or f64 with its rounding and flags.
template <auto kFloat, auto kDouble>
absl::StatusOr<AluOperation> Rounded(Reader& reader, Type type, AluOperation operation, FloatFlags flags,
                                     Rounding rounding, std::initializer_list<Type> sources) {
  const bool nearest = rounding == Rounding::kNearestEven;
  operation.parameter = static_cast<uint64_t>(FenvRounding(rounding));
  if (type == Type::kF32) {
    operation.function = nearest ? FlaggedKernel<kFloat>(flags) : FlaggedRoundedKernel<kFloat>(flags);
  } else if (type == Type::kF64 && !flags.flush && !flags.saturate) {
    operation.function = nearest ? Kernel<kDouble>() : RoundedKernel<kDouble>();
  }
  return reader.Finish(operation, sources);
}

absl::StatusOr<AluOperation> DecodeApproximate(Reader& reader, std::string_view opcode, Type type, bool flush) {
  AluOperation operation;
  operation.pipe = Pipe::kSpecial;
  const FloatFlags flags{flush, false};
  if (type == Type::kF32) {
    if (opcode == "div") operation.function = FlaggedKernel<&ApproximateQuotient>(flags);
    if (opcode == "rcp") operation.function = FlaggedKernel<&Reciprocal<float>>(flags);
    if (opcode == "sqrt") operation.function = FlaggedKernel<&SquareRoot<float>>(flags);
    if (opcode == "rsqrt") operation.function = FlaggedKernel<&ReciprocalRoot>(flags);
  } else if (type == Type::kF64) {
    if (opcode == "rcp" && flush) operation.function = Kernel<&GrossReciprocal>();
    if (opcode == "rsqrt")
      operation.function = flush ? Kernel<&GrossReciprocalRoot>() : Kernel<&ReciprocalRootDouble>();
  }
  return opcode == "div" ? reader.Finish(operation, {type, type}) : reader.Finish(operation, {type});
}

template <bool kMaximum, bool kNan, bool kXorSign>
AluFunction ExtremeKernel(Type type, bool flush) {
  if (type == Type::kF64) return kNan || kXorSign || flush ? nullptr : Kernel<&Extreme<double, kMaximum, false>>();
  if (type != Type::kF32) return nullptr;
  if (kXorSign) return FlaggedKernel<&ExtremeXorSign<float, kMaximum, kNan>>({flush, false});
  return FlaggedKernel<&Extreme<float, kMaximum, kNan>>({flush, false});
}

template <bool kMaximum, bool kNan>
float Extreme3(float a, float b, float c) {
  return Extreme<float, kMaximum, kNan>(Extreme<float, kMaximum, kNan>(a, b), c);
}

template <bool kMaximum>
absl::StatusOr<AluOperation> DecodeExtreme(Reader& reader) {
  const bool flush = reader.Take("ftz"), nan = reader.Take("NaN"), xor_sign = reader.Take("xorsign");
  if (xor_sign && !reader.Take("abs")) return reader.Unknown();
  const std::optional<Type> type = reader.TakeType();
  if (!type) return reader.Unknown();
  AluOperation operation;
  operation.pipe = *type == Type::kF64 ? Pipe::kDouble : Pipe::kAlu;
  if (reader.operand_count() == 4) {
    if (*type != Type::kF32 || xor_sign) return reader.Unknown();
    operation.function = nan ? FlaggedKernel<&Extreme3<kMaximum, true>>({flush, false})
                             : FlaggedKernel<&Extreme3<kMaximum, false>>({flush, false});
    return reader.Finish(operation, {*type, *type, *type});
  }
  if (nan) {
    operation.function = xor_sign ? ExtremeKernel<kMaximum, true, true>(*type, flush)
                                  : ExtremeKernel<kMaximum, true, false>(*type, flush);
  } else {
    operation.function = xor_sign ? ExtremeKernel<kMaximum, false, true>(*type, flush)
                                  : ExtremeKernel<kMaximum, false, false>(*type, flush);
  }
  return reader.Finish(operation, {*type, *type});
}

// On the bits, so that a NaN stays what it is.
template <class U, bool kFlush>
U ClearSign(U a) {
  const U bits = kFlush ? static_cast<U>(std::bit_cast<uint32_t>(Flush(FromLane<float>(a)))) : a;
  return bits & static_cast<U>(~U{0} >> 1);
}
template <class U, bool kFlush>
U FlipSign(U a) {
  const U bits = kFlush ? static_cast<U>(std::bit_cast<uint32_t>(Flush(FromLane<float>(a)))) : a;
  return bits ^ static_cast<U>(U{1} << (8 * sizeof(U) - 1));
}
template <class U>
U CopySign(U a, U b) {
  constexpr U kSign = U{1} << (8 * sizeof(U) - 1);
  return (a & kSign) | (b & ~kSign);
}

enum Property { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };

template <class T>
bool Has(Property property, T value) {
  switch (property) {
    case kFinite:
      return std::isfinite(value);
    case kInfinite:
      return std::isinf(value);
    case kNumber:
      return !std::isnan(value);
    case kNotANumber:
      return std::isnan(value);
    case kNormal:
      return std::isnormal(value);
    default:
      return std::fpclassify(value) == FP_SUBNORMAL;
  }
}

template <class T>
struct TestProperty {
  static void Run(const AluOperation& operation, const AluArguments& arguments) {
    if (arguments.predicate == nullptr) return;
    LaneMask result = 0;
    for (int i = 0; i < kWarpSize; ++i) {
      const T value = FromLane<T>(arguments.sources[0]->lane[static_cast<size_t>(i)]);
      result |= static_cast<LaneMask>(Has(static_cast<Property>(operation.parameter), value)) << i;
    }
    *arguments.predicate = (result & arguments.mask) | (*arguments.predicate & ~arguments.mask);
  }
};

}  // namespace

absl::StatusOr<AluOperation> DecodeFloatArithmetic(Reader& reader) {
  const std::string_view opcode = reader.instruction().opcode;
  const std::optional<Rounding> written = reader.TakeRounding();
  FloatFlags flags;
  flags.flush = reader.Take("ftz");
  flags.saturate = reader.Take("sat");
  const std::optional<Type> type = reader.TakeType();
  if (!type) return reader.Unknown();
  const Rounding rounding = written.value_or(Rounding::kNearestEven);
  AluOperation operation;
  operation.pipe = *type == Type::kF64 ? Pipe::kDouble : Pipe::kFma;
  const Type t = *type;
  if (opcode == "add") return Rounded<&Add<float>, &Add<double>>(reader, t, operation, flags, rounding, {t, t});
  if (opcode == "sub") {
    return Rounded<&Subtract<float>, &Subtract<double>>(reader, t, operation, flags, rounding, {t, t});
  }
  if (opcode == "mul") {
    return Rounded<&Multiply<float>, &Multiply<double>>(reader, t, operation, flags, rounding, {t, t});
  }
  // mad is fma on every architecture that this simulates.
  return Rounded<&FusedMultiplyAdd<float>, &FusedMultiplyAdd<double>>(reader, t, operation, flags, rounding, {t, t, t});
}

absl::StatusOr<AluOperation> DecodeFloatDivide(Reader& reader) {
  const std::string_view opcode = reader.instruction().opcode;
  const std::optional<Rounding> rounding = reader.TakeRounding();
  const bool approximate = reader.Take("approx"), full = reader.Take("full");
  const bool flush = reader.Take("ftz");
  const std::optional<Type> type = reader.TakeType();
  if (!type || int{rounding.has_value()} + int{approximate} + int{full} != 1) return reader.Unknown();
  if (approximate) return DecodeApproximate(reader, opcode, *type, flush);
  if (full && (opcode != "div" || *type != Type::kF32)) return reader.Unknown();
  AluOperation operation;
  operation.pipe = *type == Type::kF64 ? Pipe::kDouble : Pipe::kSpecial;
  const FloatFlags flags{flush, false};
  const Rounding mode = rounding.value_or(Rounding::kNearestEven);
  const Type t = *type;
  if (opcode == "div") return Rounded<&Divide<float>, &Divide<double>>(reader, t, operation, flags, mode, {t, t});
  if (opcode == "rcp") return Rounded<&Reciprocal<float>, &Reciprocal<double>>(reader, t, operation, flags, mode, {t});
  if (opcode == "sqrt") {
    return Rounded<&SquareRoot<float>, &SquareRoot<double>>(reader, t, operation, flags, mode, {t});
  }
  return reader.Unknown();
}

absl::StatusOr<AluOperation> DecodeFloatMinMax(Reader& reader) {
  return reader.instruction().opcode == "max" ? DecodeExtreme<true>(reader) : DecodeExtreme<false>(reader);
}

absl::StatusOr<AluOperation> DecodeFloatSign(Reader& reader) {
  const std::string_view opcode = reader.instruction().opcode;
  const bool flush = reader.Take("ftz");
  const std::optional<Type> type = reader.TakeType();
  if (type != Type::kF32 && type != Type::kF64) return reader.Unknown();
  const bool single = *type == Type::kF32;
  if (flush && (!single || opcode == "copysign")) return reader.Unknown();
  AluOperation operation;
  operation.pipe = single ? Pipe::kAlu : Pipe::kDouble;
  if (opcode == "copysign") {
    operation.function = single ? Kernel<&CopySign<uint32_t>>() : Kernel<&CopySign<uint64_t>>();
    return reader.Finish(operation, {*type, *type});
  }
  if (opcode == "abs") {
    operation.function = flush    ? Kernel<&ClearSign<uint32_t, true>>()
                         : single ? Kernel<&ClearSign<uint32_t, false>>()
                                  : Kernel<&ClearSign<uint64_t, false>>();
  } else {
    operation.function = flush    ? Kernel<&FlipSign<uint32_t, true>>()
                         : single ? Kernel<&FlipSign<uint32_t, false>>()
                                  : Kernel<&FlipSign<uint64_t, false>>();
  }
  return reader.Finish(operation, {*type});
}

absl::StatusOr<AluOperation> DecodeTestp(Reader& reader) {
  const std::optional<int> property =
      reader.TakeOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  const std::optional<Type> type = reader.TakeType();
  if (!property || !type) return reader.Unknown();
  AluOperation operation;
  operation.parameter = static_cast<uint64_t>(*property);
  if (*type == Type::kF32) operation.function = &TestProperty<float>::Run;
  if (*type == Type::kF64) operation.function = &TestProperty<double>::Run;
  return reader.Finish(operation, {AluBinding::kPredicate, AluBinding::kSource}, {*type});
}

}  // namespace fsr::sim::alu
