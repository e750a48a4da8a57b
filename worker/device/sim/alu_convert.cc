// cvt between scalars. Between floating-point formats the value goes through double, exactly, and is rounded once.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "worker/device/sim/alu_families.h"
#include "worker/device/sim/alu_float.h"
#include "worker/device/sim/alu_formats.h"

namespace fsr::sim::alu {
namespace {

// What a conversion does beside converting, packed into AluOperation::parameter.
struct Options {
  Rounding rounding = Rounding::kNearestEven;
  bool to_integral = false;  // .rni … between floats: the value is rounded to an integer
  bool flush = false, saturate = false, saturate_finite = false, relu = false;
};
Parameter Pack(const Options& o) {
  return {static_cast<uint64_t>(o.rounding) | uint64_t{o.to_integral} << 8 | uint64_t{o.flush} << 9 |
          uint64_t{o.saturate} << 10 | uint64_t{o.saturate_finite} << 11 | uint64_t{o.relu} << 12};
}
inline Options Unpack(Parameter p) {
  const auto bit = [&](int i) { return (p.value >> i & 1u) != 0; };
  return {static_cast<Rounding>(p.value & 0xffu), bit(8), bit(9), bit(10), bit(11), bit(12)};
}

// The lane of a converted integer. Its register may be wider than the type, and is filled with the sign.
template <class D>
using Stored = std::conditional_t<std::is_signed_v<D> && sizeof(D) < 4, int32_t, D>;

template <class S, class D>
Stored<D> IntegerToInteger(S value) {
  return static_cast<D>(value);
}
template <class S, class D>
Stored<D> IntegerToIntegerSaturating(S value) {
  using Limits = std::numeric_limits<D>;
  using Wide = __int128;
  return static_cast<D>(std::clamp<Wide>(value, Limits::min(), Limits::max()));
}

inline double RoundToIntegral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return std::trunc(value);
    case Rounding::kDown:
      return std::floor(value);
    case Rounding::kUp:
      return std::ceil(value);
    default:
      return std::nearbyint(value);
  }
}

template <class S>
double ToDouble(S value, bool flush) {
  if constexpr (std::is_same_v<S, float>) {
    if (flush) value = Flush(value);
  }
  return static_cast<double>(Widen(value));
}

// Out of range gives the nearest limit, with or without .sat; a NaN gives 0.
template <class S, class D>
Stored<D> FloatToInteger(Parameter parameter, S source) {
  const Options options = Unpack(parameter);
  const double value = RoundToIntegral(ToDouble(source, options.flush), options.rounding);
  using Limits = std::numeric_limits<D>;
  const double above = std::ldexp(1.0, Limits::digits);  // one more than the largest
  if (value >= above) return Limits::max();
  if (value < static_cast<double>(Limits::min())) return Limits::min();
  return value == value ? static_cast<D>(value) : D{0};
}

// .rzi, the conversion of C++.
template <class S, class D>
Stored<D> TruncateToInteger(S source) {
  using Limits = std::numeric_limits<D>;
  const double value = static_cast<double>(Widen(source));
  const double least = static_cast<double>(Limits::min());
  const double clamped = value < least ? least : value;
  constexpr double kAbove = static_cast<double>(uint64_t{1} << (Limits::digits - 1)) * 2;
  return clamped >= kAbove ? Limits::max() : static_cast<D>(clamped == clamped ? clamped : 0.0);
}

template <class S, class D>
D IntegerToFloat(S value) {
  return static_cast<D>(value);
}
// In 53 bits, rounded to odd, so that one more rounding is the only one.
template <class S>
double IntegerToOdd(S value) {
  constexpr int kDropped = 64 - 53;
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  uint64_t kept = magnitude;
  if (magnitude >> 53 != 0) {
    const uint64_t low = magnitude & ((uint64_t{1} << kDropped) - 1);
    kept = (magnitude - low) | (low != 0 ? uint64_t{1} << kDropped : 0);
  }
  return value < 0 ? -static_cast<double>(kept) : static_cast<double>(kept);
}
template <class S, class H>
H IntegerToHalf(Parameter parameter, S value) {
  return NarrowTo<H>(IntegerToOdd(value), Unpack(parameter).rounding);
}

template <class D>
D FromBits(uint32_t bits) {
  if constexpr (std::is_same_v<D, float>) {
    return std::bit_cast<float>(bits);
  } else {
    return D{static_cast<uint16_t>(bits)};
  }
}

template <class S, class D>
D FloatToFloat(Parameter parameter, S source) {
  const Options options = Unpack(parameter);
  double value = ToDouble(source, options.flush);
  if (options.to_integral) value = RoundToIntegral(value, options.rounding);
  if (options.saturate) value = Saturate(value);
  if (options.relu && value <= 0) value = 0;
  if constexpr (std::is_same_v<D, double>) {
    return value;
  } else {
    const Rounding rounding = options.to_integral ? Rounding::kNearestEven : options.rounding;
    const D result = FromBits<D>(Narrow(value, kFormatOf<D>, rounding, options.saturate_finite));
    if constexpr (std::is_same_v<D, float>) return options.flush ? Flush(result) : result;
    return result;
  }
}

// The plain conversions of every kernel, without a look at options.
template <class H>
H FloatToHalf(float value) {
  return Nearest<H>(value);
}
float DoubleToFloat(double value) { return static_cast<float>(value); }
double FloatToDouble(float value) { return static_cast<double>(value); }

uint32_t FloatToTF32(Parameter parameter, float source) {
  const Options options = Unpack(parameter);
  if (source != source) return kCanonicalNan32;
  const double value = options.relu && source <= 0 ? 0.0 : static_cast<double>(source);
  return Narrow(value, kTF32Format, options.rounding, options.saturate_finite) << 13;
}

template <class Make>
AluFunction ForAnyInteger(Type type, Make make) {
  if (type == Type::kU8) return make(uint8_t{});
  if (type == Type::kS8) return make(int8_t{});
  return ForInteger(type, make);
}
template <class Make>
AluFunction ForFloat(Type type, Make make) {
  switch (type) {
    case Type::kF16:
      return make(F16{});
    case Type::kBF16:
      return make(BF16{});
    case Type::kF32:
      return make(float{});
    case Type::kF64:
      return make(double{});
    default:
      return nullptr;
  }
}

bool IsInteger(Type type) { return KindOf(type) == Kind::kInteger; }

AluFunction ForIntegers(Type destination, Type source, bool saturate) {
  return ForAnyInteger(source, [&](auto from) {
    return ForAnyInteger(destination, [&](auto to) {
      using S = decltype(from);
      using D = decltype(to);
      return saturate ? Kernel<&IntegerToIntegerSaturating<S, D>>() : Kernel<&IntegerToInteger<S, D>>();
    });
  });
}

AluFunction ForFloatToInteger(Type destination, Type source, Rounding rounding) {
  return ForFloat(source, [&](auto from) {
    return ForAnyInteger(destination, [&](auto to) {
      using S = decltype(from);
      using D = decltype(to);
      // Flushing changes nothing where what is below 1 becomes 0.
      return rounding == Rounding::kZero ? Kernel<&TruncateToInteger<S, D>>() : Kernel<&FloatToInteger<S, D>>();
    });
  });
}

AluFunction ForIntegerToFloat(Type destination, Type source, Rounding rounding) {
  return ForAnyInteger(source, [&](auto from) {
    return ForFloat(destination, [&](auto to) -> AluFunction {
      using S = decltype(from);
      using D = decltype(to);
      if constexpr (std::is_enum_v<D>) {
        return Kernel<&IntegerToHalf<S, D>>();
      } else {
        if (rounding == Rounding::kNearestEven) return Kernel<&IntegerToFloat<S, D>>();
        return RoundedKernel<&IntegerToFloat<S, D>>();
      }
    });
  });
}

AluFunction ForFloats(Type destination, Type source, const Options& options) {
  const bool plain = Pack(options).value == Pack(Options{}).value;
  if (plain && source == Type::kF16 && destination == Type::kF32) return Kernel<static_cast<float (*)(F16)>(&Widen)>();
  if (plain && source == Type::kBF16 && destination == Type::kF32) {
    return Kernel<static_cast<float (*)(BF16)>(&Widen)>();
  }
  if (plain && source == Type::kF32 && destination == Type::kF16) return Kernel<&FloatToHalf<F16>>();
  if (plain && source == Type::kF32 && destination == Type::kBF16) return Kernel<&FloatToHalf<BF16>>();
  if (plain && source == Type::kF64 && destination == Type::kF32) return Kernel<&DoubleToFloat>();
  if (plain && source == Type::kF32 && destination == Type::kF64) return Kernel<&FloatToDouble>();
  return ForFloat(source, [&](auto from) {
    return ForFloat(destination, [&](auto to) { return Kernel<&FloatToFloat<decltype(from), decltype(to)>>(); });
  });
}

absl::StatusOr<AluOperation> DecodeTF32(Reader& reader, Options options) {
  if (reader.Take("rna")) options.rounding = Rounding::kNearestAway;
  options.relu = reader.Take("relu");
  options.saturate_finite = reader.Take("satfinite");
  AluOperation operation;
  operation.pipe = Pipe::kConvert;
  operation.parameter = Pack(options).value;
  operation.function = Kernel<&FloatToTF32>();
  return reader.Finish(operation, {Type::kF32});
}

}  // namespace

absl::StatusOr<AluOperation> DecodeCvt(Reader& reader) {
  const std::optional<Type> destination = reader.TakeType(), source = reader.TakeType();
  if (!destination || !source) return reader.Unknown();
  const std::optional<Rounding> rounding = reader.TakeRounding(), integral = reader.TakeIntegralRounding();
  Options options;
  options.rounding = integral.value_or(rounding.value_or(Rounding::kNearestEven));
  options.to_integral = integral.has_value();
  if (*destination == Type::kTF32 && *source == Type::kF32 && !integral) return DecodeTF32(reader, options);
  options.saturate = reader.Take("sat");
  const bool single = *destination == Type::kF32 || *source == Type::kF32;
  options.flush = single && reader.Take("ftz");
  if (IsHalf(*destination) && *source == Type::kF32) {
    options.relu = reader.Take("relu");
    options.saturate_finite = reader.Take("satfinite");
  }
  AluOperation operation;
  operation.pipe = Pipe::kConvert;
  operation.parameter = Pack(options).value;
  if (IsInteger(*destination) && IsInteger(*source)) {
    if (!rounding && !integral) operation.function = ForIntegers(*destination, *source, options.saturate);
  } else if (IsInteger(*destination)) {
    if (integral) operation.function = ForFloatToInteger(*destination, *source, *integral);
  } else if (IsInteger(*source)) {
    if (integral || options.saturate) return reader.Unknown();
    operation.function = ForIntegerToFloat(*destination, *source, options.rounding);
    if (!IsHalf(*destination)) operation.parameter = static_cast<uint64_t>(FenvRounding(options.rounding));
  } else {
    operation.function = ForFloats(*destination, *source, options);
  }
  return reader.Finish(operation, {*source});
}

}  // namespace fsr::sim::alu
