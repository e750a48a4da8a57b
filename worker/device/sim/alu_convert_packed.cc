// cvt with two values in a register: pairs of f16, bf16 and f8, and the integer packing of cvt.pack. Of two sources
// the first goes to the upper part.
#include <algorithm>
#include <string>

#include "worker/device/sim/alu_families.h"
#include "worker/device/sim/alu_formats.h"

namespace fsr::sim::alu {
namespace {

struct Options {
  Rounding rounding = Rounding::kNearestEven;
  bool relu = false, saturate_finite = false;
};
Parameter Pack(const Options& o) {
  return {static_cast<uint64_t>(o.rounding) | uint64_t{o.relu} << 8 | uint64_t{o.saturate_finite} << 9};
}
inline Options Unpack(Parameter p) {
  return {static_cast<Rounding>(p.value & 0xffu), (p.value >> 8 & 1u) != 0, (p.value >> 9 & 1u) != 0};
}

template <const Format& kFormat>
uint32_t NarrowOne(const Options& options, float source) {
  const double value = options.relu && source <= 0 ? 0.0 : static_cast<double>(source);
  return Narrow(value, kFormat, options.rounding, options.saturate_finite);
}
template <const Format& kFormat, int kBits>
uint32_t NarrowPair(Parameter parameter, float a, float b) {
  const Options options = Unpack(parameter);
  return NarrowOne<kFormat>(options, a) << kBits | NarrowOne<kFormat>(options, b);
}
template <const Format& kFormat>
uint32_t NarrowF16Pair(Parameter parameter, uint32_t pair) {
  return NarrowPair<kFormat, 8>(parameter, Widen(FromLane<F16>(pair >> 16)), Widen(FromLane<F16>(pair)));
}

template <float (*kWiden)(uint32_t)>
uint32_t WidenPair(Parameter parameter, uint32_t pair) {
  const Options options = Unpack(parameter);
  const uint32_t high = NarrowOne<kF16Format>(options, kWiden(pair >> 8)),
                 low = NarrowOne<kF16Format>(options, kWiden(pair));
  return high << 16 | low;
}

// The pair without options.
template <class H>
uint32_t NearestPair(float a, float b) {
  return static_cast<uint32_t>(Raw(Nearest<H>(a))) << 16 | Raw(Nearest<H>(b));
}

AluFunction PairFunction(Type destination, Type source, bool plain) {
  if (plain && source == Type::kF32 && destination == Type::kF16x2) return Kernel<&NearestPair<F16>>();
  if (plain && source == Type::kF32 && destination == Type::kBF16x2) return Kernel<&NearestPair<BF16>>();
  if (source == Type::kF32) {
    switch (destination) {
      case Type::kF16x2:
        return Kernel<&NarrowPair<kF16Format, 16>>();
      case Type::kBF16x2:
        return Kernel<&NarrowPair<kBF16Format, 16>>();
      case Type::kE4M3x2:
        return Kernel<&NarrowPair<kE4M3Format, 8>>();
      case Type::kE5M2x2:
        return Kernel<&NarrowPair<kE5M2Format, 8>>();
      default:
        return nullptr;
    }
  }
  if (source == Type::kF16x2 && destination == Type::kE4M3x2) return Kernel<&NarrowF16Pair<kE4M3Format>>();
  if (source == Type::kF16x2 && destination == Type::kE5M2x2) return Kernel<&NarrowF16Pair<kE5M2Format>>();
  if (source == Type::kE4M3x2 && destination == Type::kF16x2) return Kernel<&WidenPair<&WidenE4M3>>();
  if (source == Type::kE5M2x2 && destination == Type::kF16x2) return Kernel<&WidenPair<&WidenE5M2>>();
  return nullptr;
}

// cvt.pack: `bits` bits each, clamped; c, shifted up, fills what is above the pair.
struct PackShape {
  int bits = 0;
  bool is_signed = false;
};
uint32_t ClampTo(PackShape shape, int32_t value) {
  const int64_t lowest = shape.is_signed ? -(int64_t{1} << (shape.bits - 1)) : 0;
  const int64_t highest = (int64_t{1} << (shape.is_signed ? shape.bits - 1 : shape.bits)) - 1;
  const auto clamped = static_cast<uint32_t>(std::clamp<int64_t>(value, lowest, highest));
  return clamped & static_cast<uint32_t>((uint64_t{1} << shape.bits) - 1);
}
uint32_t PackTwo(Parameter parameter, int32_t a, int32_t b) {
  const PackShape shape{static_cast<int>(parameter.value >> 1), (parameter.value & 1u) != 0};
  return ClampTo(shape, a) << shape.bits | ClampTo(shape, b);
}
uint32_t PackOnto(Parameter parameter, int32_t a, int32_t b, uint32_t c) {
  return PackTwo(parameter, a, b) | c << (2 * (parameter.value >> 1));
}

absl::StatusOr<AluOperation> DecodePack(Reader& reader) {
  static constexpr std::pair<std::string_view, PackShape> kShapes[] = {
      {"u16", {16, false}}, {"s16", {16, true}}, {"u8", {8, false}}, {"s8", {8, true}},
      {"u4", {4, false}},   {"s4", {4, true}},   {"u2", {2, false}}, {"s2", {2, true}}};
  AluOperation operation;
  operation.pipe = Pipe::kConvert;
  if (!reader.Take("sat") || !reader.Take("s32")) return reader.Unknown();
  for (const auto& [name, shape] : kShapes) {
    if (!reader.Take(name)) continue;
    operation.parameter = static_cast<uint64_t>(shape.bits) << 1 | uint64_t{shape.is_signed};
    if (shape.bits == 16) {
      operation.function = Kernel<&PackTwo>();
      return reader.Finish(operation, {Type::kS32, Type::kS32});
    }
    if (!reader.Take("b32")) return reader.Unknown();
    operation.function = Kernel<&PackOnto>();
    return reader.Finish(operation, {Type::kS32, Type::kS32, Type::kB32});
  }
  return reader.Unknown();
}

}  // namespace

absl::StatusOr<AluOperation> DecodePackedCvt(Reader& reader) {
  if (reader.Take("pack")) return DecodePack(reader);
  const std::optional<Type> destination = reader.TakeType(), source = reader.TakeType();
  const std::optional<Rounding> rounding = reader.TakeRounding();
  if (!destination || !source || !rounding) return reader.Unknown();
  Options options;
  options.rounding = *rounding;
  options.relu = reader.Take("relu");
  options.saturate_finite = reader.Take("satfinite");
  AluOperation operation;
  operation.pipe = Pipe::kConvert;
  operation.parameter = Pack(options).value;
  operation.function = PairFunction(*destination, *source, operation.parameter == Pack(Options{}).value);
  if (*source == Type::kF32) return reader.Finish(operation, {*source, *source});
  return reader.Finish(operation, {*source});
}

}  // namespace fsr::sim::alu
