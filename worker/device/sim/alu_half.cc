// Arithmetic on f16 and bf16, alone or in pairs. Sums and products are exact or rounded to odd in double, then rounded
// once to the format.
#include <cmath>

#include "worker/device/sim/alu_families.h"
#include "worker/device/sim/alu_float.h"
#include "worker/device/sim/alu_formats.h"

namespace fsr::sim::alu {
namespace {

template <class H>
FSR_INLINE double Wide(H value) {
  return static_cast<double>(Widen(value));
}

template <class H>
FSR_INLINE H Add(H a, H b) {
  return Nearest<H>(AddToOdd(Wide(a), Wide(b)));
}
template <class H>
FSR_INLINE H Subtract(H a, H b) {
  return Nearest<H>(AddToOdd(Wide(a), -Wide(b)));
}
template <class H>
FSR_INLINE H Multiply(H a, H b) {
  return Nearest<H>(Wide(a) * Wide(b));
}
template <class H>
FSR_INLINE H FusedMultiplyAdd(H a, H b, H c) {
  return Nearest<H>(AddToOdd(Wide(a) * Wide(b), Wide(c)));
}

enum Flag : uint64_t { kFlush = 1, kSaturate = 2, kRelu = 4 };

template <class H>
H Finish(uint64_t flags, H result) {
  if ((flags & kFlush) != 0) result = Flush(result);
  if ((flags & kSaturate) != 0) return Nearest<H>(Saturate(Wide(result)));
  // A NaN stays one; -0 becomes +0 as any other negative number.
  if ((flags & kRelu) != 0 && (Raw(result) & 0x8000u) != 0 && !std::isnan(Widen(result))) return H{0};
  return result;
}

template <auto kFunction, class Signature = decltype(kFunction)>
struct WithFlags;
template <auto kFunction, class H, class... A>
struct WithFlags<kFunction, H (*)(A...)> {
  static H Apply(Parameter flags, A... sources) {
    if ((flags.value & kFlush) != 0) return Finish(flags.value, kFunction(Flush(sources)...));
    return Finish(flags.value, kFunction(sources...));
  }
};

// The plain form has a kernel of its own: it is the usual one.
template <auto kFunction>
AluFunction HalfKernel(bool packed, uint64_t flags) {
  if (flags == 0) return packed ? Kernel<&Packed<kFunction>::Apply>() : Kernel<kFunction>();
  return packed ? Kernel<&Packed<&WithFlags<kFunction>::Apply>::Apply>() : Kernel<&WithFlags<kFunction>::Apply>();
}

template <class H>
AluFunction ArithmeticKernel(std::string_view opcode, bool packed, uint64_t flags) {
  if (opcode == "add") return HalfKernel<&Add<H>>(packed, flags);
  if (opcode == "sub") return HalfKernel<&Subtract<H>>(packed, flags);
  if (opcode == "mul") return HalfKernel<&Multiply<H>>(packed, flags);
  return opcode == "fma" ? HalfKernel<&FusedMultiplyAdd<H>>(packed, flags) : nullptr;
}

template <class H>
float AddMixed(H a, float b) {
  return Widen(a) + b;
}
template <class H>
float SubtractMixed(H a, float b) {
  return Widen(a) - b;
}
template <class H>
float FusedMultiplyAddMixed(H a, H b, float c) {
  return std::fma(Widen(a), Widen(b), c);
}

template <class H>
AluFunction MixedKernel(std::string_view opcode, FloatFlags flags) {
  if (opcode == "add") return FlaggedRoundedKernel<&AddMixed<H>>(flags);
  if (opcode == "sub") return FlaggedRoundedKernel<&SubtractMixed<H>>(flags);
  return opcode == "fma" ? FlaggedRoundedKernel<&FusedMultiplyAddMixed<H>>(flags) : nullptr;
}

// add.f32.f16 and its kin: sources of 16 bits, an addend and a result of 32.
absl::StatusOr<AluOperation> DecodeMixed(Reader& reader) {
  const std::string_view opcode = reader.instruction().opcode;
  const Rounding rounding = reader.TakeRounding().value_or(Rounding::kNearestEven);
  const FloatFlags flags{false, reader.Take("sat")};
  reader.TakeType();
  const std::optional<Type> type = reader.TakeType();
  AluOperation operation;
  operation.pipe = Pipe::kFma;
  operation.parameter = static_cast<uint64_t>(FenvRounding(rounding));
  if (type == Type::kF16) operation.function = MixedKernel<F16>(opcode, flags);
  if (type == Type::kBF16) operation.function = MixedKernel<BF16>(opcode, flags);
  if (operation.function == nullptr) return reader.Unknown();
  if (opcode == "fma") return reader.Finish(operation, {*type, *type, Type::kF32});
  return reader.Finish(operation, {*type, Type::kF32});
}

template <class H, bool kMaximum, bool kNan, bool kXorSign>
H ExtremeHalf(H a, H b) {
  const float x = Widen(a), y = Widen(b);
  return Nearest<H>(kXorSign ? ExtremeXorSign<float, kMaximum, kNan>(x, y) : Extreme<float, kMaximum, kNan>(x, y));
}

template <class H, bool kMaximum>
AluFunction ExtremeKernel(bool nan, bool xor_sign, bool packed, uint64_t flags) {
  if (nan) {
    return xor_sign ? HalfKernel<&ExtremeHalf<H, kMaximum, true, true>>(packed, flags)
                    : HalfKernel<&ExtremeHalf<H, kMaximum, true, false>>(packed, flags);
  }
  return xor_sign ? HalfKernel<&ExtremeHalf<H, kMaximum, false, true>>(packed, flags)
                  : HalfKernel<&ExtremeHalf<H, kMaximum, false, false>>(packed, flags);
}

template <class H>
H ClearSign(H a) {
  return H{static_cast<uint16_t>(Raw(a) & 0x7fffu)};
}
template <class H>
H FlipSign(H a) {
  return H{static_cast<uint16_t>(Raw(a) ^ 0x8000u)};
}
// As in alu_approx.cc: computed in double, where a GPU has an error of about one unit of the format.
template <class H>
H Exp2(H a) {
  return Nearest<H>(std::exp2(Wide(a)));
}
template <class H>
H HyperbolicTangent(H a) {
  return Nearest<H>(std::tanh(Wide(a)));
}

template <class H>
AluFunction UnaryKernel(std::string_view opcode, bool packed, uint64_t flags) {
  if (opcode == "abs") return HalfKernel<&ClearSign<H>>(packed, flags);
  if (opcode == "neg") return HalfKernel<&FlipSign<H>>(packed, flags);
  return opcode == "ex2" ? HalfKernel<&Exp2<H>>(packed, flags) : HalfKernel<&HyperbolicTangent<H>>(packed, flags);
}

bool IsBFloat(Type type) { return type == Type::kBF16 || type == Type::kBF16x2; }

}  // namespace

absl::StatusOr<AluOperation> DecodeHalfArithmetic(Reader& reader) {
  const std::vector<std::string>& modifiers = reader.instruction().modifiers;
  if (modifiers.size() >= 2 && modifiers[modifiers.size() - 2] == "f32") return DecodeMixed(reader);
  const std::string_view opcode = reader.instruction().opcode;
  const std::optional<Rounding> rounding = reader.TakeRounding();
  if (rounding.value_or(Rounding::kNearestEven) != Rounding::kNearestEven) return reader.Unknown();
  AluOperation operation;
  operation.pipe = Pipe::kHalf;
  if (reader.Take("ftz")) operation.parameter |= kFlush;
  if (reader.Take("sat")) operation.parameter |= kSaturate;
  if (opcode == "fma" && reader.Take("relu")) operation.parameter |= kRelu;
  const std::optional<Type> type = reader.TakeType();
  if (!type || !IsHalf(*type)) return reader.Unknown();
  operation.function = IsBFloat(*type) ? ArithmeticKernel<BF16>(opcode, IsPacked(*type), operation.parameter)
                                       : ArithmeticKernel<F16>(opcode, IsPacked(*type), operation.parameter);
  if (opcode == "fma") return reader.Finish(operation, {*type, *type, *type});
  return reader.Finish(operation, {*type, *type});
}

absl::StatusOr<AluOperation> DecodeHalfMinMax(Reader& reader) {
  const bool maximum = reader.instruction().opcode == "max";
  AluOperation operation;
  operation.pipe = Pipe::kHalf;
  if (reader.Take("ftz")) operation.parameter |= kFlush;
  const bool nan = reader.Take("NaN"), xor_sign = reader.Take("xorsign");
  if (xor_sign && !reader.Take("abs")) return reader.Unknown();
  const std::optional<Type> type = reader.TakeType();
  if (!type || !IsHalf(*type)) return reader.Unknown();
  const auto choose = [&](auto zero) {
    using H = decltype(zero);
    return maximum ? ExtremeKernel<H, true>(nan, xor_sign, IsPacked(*type), operation.parameter)
                   : ExtremeKernel<H, false>(nan, xor_sign, IsPacked(*type), operation.parameter);
  };
  operation.function = IsBFloat(*type) ? choose(BF16{}) : choose(F16{});
  return reader.Finish(operation, {*type, *type});
}

absl::StatusOr<AluOperation> DecodeHalfUnary(Reader& reader) {
  const std::string_view opcode = reader.instruction().opcode;
  const bool approximate = opcode == "ex2" || opcode == "tanh";
  AluOperation operation;
  operation.pipe = approximate ? Pipe::kSpecial : Pipe::kHalf;
  if (approximate && !reader.Take("approx")) return reader.Unknown();
  if (opcode != "tanh" && reader.Take("ftz")) operation.parameter |= kFlush;
  const std::optional<Type> type = reader.TakeType();
  if (!type || !IsHalf(*type)) return reader.Unknown();
  operation.function = IsBFloat(*type) ? UnaryKernel<BF16>(opcode, IsPacked(*type), operation.parameter)
                                       : UnaryKernel<F16>(opcode, IsPacked(*type), operation.parameter);
  return reader.Finish(operation, {*type});
}

}  // namespace fsr::sim::alu
