// Typed access to the elements of a buffer: the one switch over ElementType for loops over many elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <type_traits>

#include "common/element_type.h"

namespace fsr {

// All 65536 halves as floats: a look-up is several times faster than the conversion.
const float* HalfTable();

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
  uint16_t FromDouble(double value) const { return FloatToHalf(static_cast<float>(value)); }
};

struct Bfloat16Element {
  using Stored = uint16_t;
  static constexpr bool kInteger = false;
  double ToDouble(uint16_t stored) const { return static_cast<double>(Bfloat16ToFloat(stored)); }
  uint16_t FromDouble(double value) const { return FloatToBfloat16(static_cast<float>(value)); }
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
