#include "tests/gpu/ulp.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/element_type.h"

namespace fsr {
namespace {

constexpr uint64_t kBeyond = 2;

// An IEEE-like format in the low bits of a word.
struct Format {
  int bits;
  int mantissa_bits;
  bool floating;
};

Format FormatOf(v1::ElementType type) {
  const int bits = static_cast<int>(8 * SizeOf(type));
  switch (type) {
    case v1::F16:
      return {bits, 10, true};
    case v1::BF16:
      return {bits, 7, true};
    case v1::F32:
      return {bits, 23, true};
    case v1::F64:
      return {bits, 52, true};
    default:
      return {bits, 0, false};
  }
}

bool IsSigned(v1::ElementType type) { return type == v1::I8 || type == v1::I16 || type == v1::I32 || type == v1::I64; }

// Neighbouring values get neighbouring numbers; 0 and -0 the same.
__int128 Ordered(const Format& format, bool is_signed, uint64_t stored) {
  const uint64_t sign = uint64_t{1} << (format.bits - 1);
  const bool negative = (stored & sign) != 0;
  if (format.floating) return negative ? -static_cast<__int128>(stored & (sign - 1)) : static_cast<__int128>(stored);
  if (is_signed && negative) return static_cast<__int128>(stored) - (static_cast<__int128>(1) << format.bits);
  return stored;
}

bool IsNan(const Format& format, uint64_t stored) {
  if (!format.floating) return false;
  const uint64_t sign = uint64_t{1} << (format.bits - 1);
  const uint64_t infinity = (sign - 1) & ~((uint64_t{1} << format.mantissa_bits) - 1);
  return (stored & (sign - 1)) > infinity;
}

}  // namespace

void UlpDistance::Add(v1::ElementType type, std::span<const std::byte> a, std::span<const std::byte> b) {
  const Format format = FormatOf(type);
  const bool is_signed = IsSigned(type);
  const size_t step = SizeOf(type);
  for (size_t at = 0; at < std::min(a.size(), b.size()); at += step) {
    uint64_t x = 0, y = 0;
    std::memcpy(&x, a.data() + at, step);
    std::memcpy(&y, b.data() + at, step);
    if (x == y) continue;
    const bool x_nan = IsNan(format, x), y_nan = IsNan(format, y);
    if (x_nan && y_nan) continue;
    uint64_t distance = std::numeric_limits<uint64_t>::max();
    if (!x_nan && !y_nan) {
      const __int128 difference = Ordered(format, is_signed, x) - Ordered(format, is_signed, y);
      distance = static_cast<uint64_t>(difference < 0 ? -difference : difference);
    }
    largest = std::max(largest, distance);
    if (distance > kBeyond) ++beyond_two;
  }
}

void UlpDistance::Add(const UlpDistance& other) {
  largest = std::max(largest, other.largest);
  beyond_two += other.beyond_two;
}

}  // namespace fsr
