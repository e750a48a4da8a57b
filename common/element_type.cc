#include "common/element_type.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace fsr {
namespace {

struct TypeFacts {
  v1::ElementType type;
  size_t size;
  std::string_view name;
  std::string_view cuda_name;
};

constexpr TypeFacts kTypes[] = {
    {v1::F16, 2, "f16", "__half"},       {v1::BF16, 2, "bf16", "__nv_bfloat16"},
    {v1::F32, 4, "f32", "float"},        {v1::F64, 8, "f64", "double"},
    {v1::I8, 1, "i8", "signed char"},    {v1::I16, 2, "i16", "short"},
    {v1::I32, 4, "i32", "int"},          {v1::I64, 8, "i64", "long long"},
    {v1::U8, 1, "u8", "unsigned char"},  {v1::U16, 2, "u16", "unsigned short"},
    {v1::U32, 4, "u32", "unsigned int"}, {v1::U64, 8, "u64", "unsigned long long"},
};

constexpr TypeFacts kUnknown = {v1::ELEMENT_TYPE_UNSPECIFIED, 0, "unspecified", "void"};

const TypeFacts& FactsOf(v1::ElementType type) {
  // The table is in the order of the enum, which starts with UNSPECIFIED.
  const auto index = static_cast<size_t>(type) - 1;
  return index < std::size(kTypes) ? kTypes[index] : kUnknown;
}

template <typename T>
double Load(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return static_cast<double>(value);
}

template <typename T>
T LoadBits(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

template <typename T>
void Store(T value, void* address) {
  std::memcpy(address, &value, sizeof(value));
}

// Truncates toward zero and keeps the low bits, where a plain cast would be undefined. NaN and infinity become 0.
template <typename T>
T WrapToInteger(double value) {
  if (!std::isfinite(value)) return 0;
  const double magnitude = std::fmod(std::trunc(std::fabs(value)), 0x1.0p64);
  const auto low = static_cast<uint64_t>(magnitude);
  return static_cast<T>(value < 0 ? uint64_t{0} - low : low);
}

// The bits of `value` in a binary format of 1 sign bit, kExponentBits and kMantissaBits, rounded once, to nearest even.
template <int kExponentBits, int kMantissaBits>
uint16_t Narrow(double value) {
  constexpr int kExponentMin = 2 - (1 << (kExponentBits - 1));  // of the smallest normal number
  constexpr uint64_t kInfinity = ((uint64_t{1} << kExponentBits) - 1) << kMantissaBits;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint64_t sign = (bits >> 63) << (kExponentBits + kMantissaBits);
  const uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  const int exponent_field = static_cast<int>((bits >> 52) & 0x7ff);
  if (exponent_field == 0x7ff) {
    const uint64_t quiet_nan = (uint64_t{1} << (kMantissaBits - 1)) | (mantissa >> (52 - kMantissaBits));
    return static_cast<uint16_t>(sign | kInfinity | (mantissa != 0 ? quiet_nan : 0));
  }
  // A double's subnormals are far below half of the smallest number of either format.
  if (exponent_field == 0) return static_cast<uint16_t>(sign);
  const int exponent = exponent_field - 1023;
  const int below_normal = exponent < kExponentMin ? kExponentMin - exponent : 0;
  const int shift = 52 - kMantissaBits + below_normal;
  if (shift > 53) return static_cast<uint16_t>(sign);
  const uint64_t significand = mantissa | (uint64_t{1} << 52);
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  uint64_t rounded = significand >> shift;
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  // The implicit leading bit of a normal number adds 1 to the exponent field, and so does a carry out of the rounding.
  const auto steps = static_cast<uint64_t>(exponent + below_normal - kExponentMin);
  const uint64_t magnitude = (steps << kMantissaBits) + rounded;
  return static_cast<uint16_t>(sign | (magnitude < kInfinity ? magnitude : kInfinity));
}

uint16_t DoubleToHalf(double value) { return Narrow<5, 10>(value); }
uint16_t DoubleToBfloat16(double value) { return Narrow<8, 7>(value); }

}  // namespace

size_t SizeOf(v1::ElementType type) { return FactsOf(type).size; }
std::string_view NameOf(v1::ElementType type) { return FactsOf(type).name; }
std::string_view CudaNameOf(v1::ElementType type) { return FactsOf(type).cuda_name; }

std::optional<v1::ElementType> ElementTypeByName(std::string_view name) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.name == name) return facts.type;
  }
  return std::nullopt;
}

bool IsFloatingPoint(v1::ElementType type) {
  return type == v1::F16 || type == v1::BF16 || type == v1::F32 || type == v1::F64;
}

double LoadAsDouble(v1::ElementType type, const void* address) {
  switch (type) {
    case v1::F16:
      return static_cast<double>(HalfToFloat(LoadBits<uint16_t>(address)));
    case v1::BF16:
      return static_cast<double>(Bfloat16ToFloat(LoadBits<uint16_t>(address)));
    case v1::F32:
      return Load<float>(address);
    case v1::F64:
      return Load<double>(address);
    case v1::I8:
      return Load<int8_t>(address);
    case v1::I16:
      return Load<int16_t>(address);
    case v1::I32:
      return Load<int32_t>(address);
    case v1::I64:
      return Load<int64_t>(address);
    case v1::U8:
      return Load<uint8_t>(address);
    case v1::U16:
      return Load<uint16_t>(address);
    case v1::U32:
      return Load<uint32_t>(address);
    case v1::U64:
      return Load<uint64_t>(address);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

void StoreFromDouble(v1::ElementType type, double value, void* address) {
  switch (type) {
    case v1::F16:
      return Store(DoubleToHalf(value), address);
    case v1::BF16:
      return Store(DoubleToBfloat16(value), address);
    case v1::F32:
      return Store(static_cast<float>(value), address);
    case v1::F64:
      return Store(value, address);
    case v1::I8:
    case v1::U8:
      return Store(WrapToInteger<uint8_t>(value), address);
    case v1::I16:
    case v1::U16:
      return Store(WrapToInteger<uint16_t>(value), address);
    case v1::I32:
    case v1::U32:
      return Store(WrapToInteger<uint32_t>(value), address);
    case v1::I64:
    case v1::U64:
      return Store(WrapToInteger<uint64_t>(value), address);
    default:
      return;
  }
}

float HalfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  const uint32_t wide_exponent = exponent == 0x1f ? 0xffu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide_exponent << 23) | (mantissa << 13));
}

uint16_t FloatToHalf(float value) { return DoubleToHalf(static_cast<double>(value)); }

float Bfloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t FloatToBfloat16(float value) { return DoubleToBfloat16(static_cast<double>(value)); }

}  // namespace fsr
