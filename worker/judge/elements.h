// Typed access to the elements of a buffer: the one switch over ElementType for loops over many elements.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <type_traits>

#include "common/element_type.h"

namespace fsr {

// All 65536 halves as floats: a look-up is several times faster than the conversion.
const float* HalfTable();

// `value` in a 16-bit format, to nearest even. REQUIRES: its magnitude lies between the format's smallest normal value
// and its largest one.
template <int kExponentBits, int kMantissaBits>
uint16_t NarrowNormal(double value) {
  constexpr int kDropped = 52 - kMantissaBits;
  constexpr uint64_t kBias = 1023 - ((1 << (kExponentBits - 1)) - 1);
  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  // A carry out of the mantissa raises the exponent, as it should.
  const uint64_t rounded = magnitude + ((uint64_t{1} << (kDropped - 1)) - 1) + ((magnitude >> kDropped) & 1);
  return static_cast<uint16_t>((bits >> 63 << 15) | ((rounded >> kDropped) - (kBias << kMantissaBits)));
}

template <typename T>
struct PlainElement {
  using Stored = T;
  static constexpr bool kInteger = std::is_integral_v<T>;
  double ToDouble(T stored) const { return static_cast<double>(stored); }
  T FromDouble(double value) const { return static_cast<T>(value); }
};

struct HalfElement {
  using Stored = uint16_t;
  static constexpr bool kInteger = false;
  const float* table = HalfTable();
  double ToDouble(uint16_t stored) const { return static_cast<double>(table[stored]); }
  uint16_t FromDouble(double value) const {
    // Normal halves by integer arithmetic, in a few cycles; the rest by the general conversion.
    constexpr double kSmallestNormal = 0x1p-14, kLargest = 65504;
    const double magnitude = std::abs(value);
    if (!(magnitude >= kSmallestNormal && magnitude <= kLargest)) return FloatToHalf(static_cast<float>(value));
    return NarrowNormal<5, 10>(value);
  }
};

struct Bfloat16Element {
  using Stored = uint16_t;
  static constexpr bool kInteger = false;
  double ToDouble(uint16_t stored) const { return static_cast<double>(Bfloat16ToFloat(stored)); }
  uint16_t FromDouble(double value) const {
    constexpr double kSmallestNormal = 0x1p-126, kLargest = 0x1.fep127;
    const double magnitude = std::abs(value);
    if (!(magnitude >= kSmallestNormal && magnitude <= kLargest)) return FloatToBfloat16(static_cast<float>(value));
    return NarrowNormal<8, 7>(value);
  }
};

// Calls `visitor` with the element class of `type`. REQUIRES: not UNSPECIFIED.
template <typename Visitor>
decltype(auto) VisitElementType(v1::ElementType type, Visitor&& visitor) {
  switch (type) {
    case v1::F16:
      return visitor(HalfElement{});
    case v1::BF16:
      return visitor(Bfloat16Element{});
    case v1::F64:
      return visitor(PlainElement<double>{});
    case v1::I8:
      return visitor(PlainElement<int8_t>{});
    case v1::I16:
      return visitor(PlainElement<int16_t>{});
    case v1::I32:
      return visitor(PlainElement<int32_t>{});
    case v1::I64:
      return visitor(PlainElement<int64_t>{});
    case v1::U8:
      return visitor(PlainElement<uint8_t>{});
    case v1::U16:
      return visitor(PlainElement<uint16_t>{});
    case v1::U32:
      return visitor(PlainElement<uint32_t>{});
    case v1::U64:
      return visitor(PlainElement<uint64_t>{});
    case v1::F32:
      return visitor(PlainElement<float>{});
    default:
      std::abort();
  }
}

// The bytes of a buffer as its elements. REQUIRES: aligned for T, as memory from operator new is.
template <typename T>
std::span<const T> ElementsOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}
template <typename T>
std::span<T> ElementsOf(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace fsr
