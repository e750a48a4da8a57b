// The floating-point formats that C++ has no type for: exact widening, and narrowing with every rounding mode.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "worker/device/sim/alu_decode.h"
#include "worker/device/sim/alu_map.h"

namespace fsr::sim::alu {

struct Format {
  int precision;      // significant bits, with the implicit one
  int min_exponent;   // of the smallest normal number
  uint32_t infinity;  // bits without sign; where there is none, the NaN
  uint32_t largest;   // bits of the largest finite number
  uint32_t nan;       // the canonical NaN
  uint32_t sign;      // the sign bit
};
inline constexpr Format kF32Format{24, -126, 0x7f800000u, 0x7f7fffffu, 0x7fffffffu, 0x80000000u};
inline constexpr Format kTF32Format{11, -126, 0x3fc00u, 0x3fbffu, 0x3ffffu, 0x40000u};  // without its 13 unused bits
inline constexpr Format kF16Format{11, -14, 0x7c00u, 0x7bffu, 0x7fffu, 0x8000u};
inline constexpr Format kBF16Format{8, -126, 0x7f80u, 0x7f7fu, 0x7fffu, 0x8000u};
inline constexpr Format kE5M2Format{3, -14, 0x7cu, 0x7bu, 0x7fu, 0x80u};
inline constexpr Format kE4M3Format{4, -6, 0x7fu, 0x7eu, 0x7fu, 0x80u};

// Whether a magnitude whose cut-off part is `rest` of `unit` is rounded away from zero.
inline bool RoundsUp(uint64_t quotient, uint64_t rest, uint64_t unit, bool negative, Rounding rounding) {
  const uint64_t half = unit / 2;
  switch (rounding) {
    case Rounding::kZero:
      return false;
    case Rounding::kDown:
      return negative && rest != 0;
    case Rounding::kUp:
      return !negative && rest != 0;
    case Rounding::kNearestAway:
      return rest >= half;
    default:
      return rest > half || (rest == half && (quotient & 1u) != 0);
  }
}

// The bits of `value` in a format, rounded once. `saturate_finite`: what would be an infinity, and an infinity itself,
// becomes the largest number.
inline uint32_t Narrow(double value, const Format& format, Rounding rounding, bool saturate_finite = false) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const bool negative = (bits >> 63) != 0;
  const uint32_t sign = negative ? format.sign : 0;
  const int biased = static_cast<int>(bits >> 52 & 0x7ffu);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (biased == 0x7ff) {
    if (fraction != 0) return format.nan;
    return sign | (saturate_finite ? format.largest : format.infinity);
  }
  if (biased == 0 && fraction == 0) return sign;
  const uint64_t significand = biased == 0 ? fraction : fraction | uint64_t{1} << 52;
  const int exponent = (biased == 0 ? 1 : biased) - 1023;
  const int below = exponent < format.min_exponent ? format.min_exponent - exponent : 0;
  const int dropped = 53 - format.precision + below;
  const int shift = dropped < 62 ? dropped : 62;  // all of the significand's 53 bits, and a zero above them
  uint64_t quotient = significand >> shift;
  const uint64_t unit = uint64_t{1} << shift;
  quotient += RoundsUp(quotient, significand & (unit - 1), unit, negative, rounding) ? 1 : 0;
  // Adding the exponent above the significand's implicit bit carries a rounding overflow into it.
  const uint64_t steps = below > 0 ? 0 : static_cast<uint64_t>(exponent - format.min_exponent);
  const uint64_t magnitude = quotient + (steps << (format.precision - 1));
  if (magnitude <= format.largest) return sign | static_cast<uint32_t>(magnitude);
  const bool away = rounding == Rounding::kNearestEven || rounding == Rounding::kNearestAway ||
                    rounding == (negative ? Rounding::kDown : Rounding::kUp);
  return sign | (away && !saturate_finite ? format.infinity : format.largest);
}

FSR_INLINE float Widen(F16 half) {
  const uint32_t magnitude = Raw(half) & 0x7fffu, sign = static_cast<uint32_t>(Raw(half) & 0x8000u) << 16;
  // Both ways are taken, and neither meets a subnormal float, which many machines are slow with.
  const uint32_t normal = (magnitude << 13) + (magnitude >= 0x7c00u ? 224u << 23 : 112u << 23);
  const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  return std::bit_cast<float>((magnitude < 0x400u ? subnormal : normal) | sign);
}
FSR_INLINE float Widen(BF16 half) { return std::bit_cast<float>(static_cast<uint32_t>(Raw(half)) << 16); }
FSR_INLINE float Widen(float value) { return value; }
inline double Widen(double value) { return value; }
// An f8 is the upper byte of an f16 (e5m2), or has its own bias (e4m3).
inline float WidenE5M2(uint32_t byte) { return Widen(F16{static_cast<uint16_t>((byte & 0xffu) << 8)}); }
inline float WidenE4M3(uint32_t byte) {
  if ((byte & 0x7fu) == 0x7fu) return std::bit_cast<float>(kCanonicalNan32);
  const float magnitude = std::bit_cast<float>((byte & 0x7fu) << 20) * 0x1p120f;
  return (byte & 0x80u) != 0 ? -magnitude : magnitude;
}

template <class H>
inline constexpr Format kFormatOf = kF16Format;
template <>
inline constexpr Format kFormatOf<BF16> = kBF16Format;
template <>
inline constexpr Format kFormatOf<float> = kF32Format;

template <class H>
H NarrowTo(double value, Rounding rounding) {
  return H{static_cast<uint16_t>(Narrow(value, kFormatOf<H>, rounding))};
}

// To nearest, ties to even, without branches and in words of one width, so that loops round it are vectorised.
template <class H>
FSR_INLINE H Nearest(double value) {
  constexpr Format kFormat = kFormatOf<H>;
  constexpr int kDropped = 53 - kFormat.precision;
  constexpr uint64_t kRebias = static_cast<uint64_t>(1022 + kFormat.min_exponent) << 52;
  constexpr uint64_t kLeastNormal = kRebias + (uint64_t{1} << 52);
  // A number whose last place is that of a subnormal result: adding it aligns and rounds.
  constexpr uint64_t kAligner = static_cast<uint64_t>(1023 + 53 + kFormat.min_exponent - kFormat.precision) << 52;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint64_t magnitude = bits & 0x7fffffffffffffffu;
  const uint64_t half = (uint64_t{1} << (kDropped - 1)) - 1 + (magnitude >> kDropped & 1u);
  const uint64_t normal = (magnitude - kRebias + half) >> kDropped;
  const double aligned = std::bit_cast<double>(magnitude) + std::bit_cast<double>(kAligner);
  const uint64_t subnormal = std::bit_cast<uint64_t>(aligned) - kAligner;
  uint64_t result = normal > kFormat.infinity ? kFormat.infinity : normal;
  result = magnitude < kLeastNormal ? subnormal : result;
  result |= bits >> 48 & 0x8000u;
  result = magnitude > uint64_t{0x7ff} << 52 ? kFormat.nan : result;
  return H{static_cast<uint16_t>(result)};
}
template <class H>
FSR_INLINE H Nearest(float value) {
  return Nearest<H>(static_cast<double>(value));
}

// a + b rounded to odd: with 53 bits it still says on which side of every shorter number, and of every midpoint of two
// shorter ones, the exact sum lies, so that a second rounding gives what one would have. For finite sums.
FSR_INLINE double AddToOdd(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  const uint64_t bits = std::bit_cast<uint64_t>(sum);
  // One step away from zero if the error has the sign of the sum, and towards it otherwise.
  uint64_t step = 1 - 2 * ((bits ^ std::bit_cast<uint64_t>(error)) >> 63);
  step = error == 0 ? 0 : step;
  step = (bits & 1u) != 0 ? 0 : step;
  step = (bits & 0x7fffffffffffffffu) >= uint64_t{0x7ff} << 52 ? 0 : step;
  return std::bit_cast<double>(bits + step);
}

}  // namespace fsr::sim::alu
