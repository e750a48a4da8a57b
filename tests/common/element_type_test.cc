#include "common/element_type.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/random.h"

namespace fsr {
namespace {

// A 16-bit float by the definition of IEEE 754: (-1)^s * 1.m * 2^(e - bias), and 0.m * 2^(1 - bias) for e = 0.
double Decode(uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

uint16_t Store16(v1::ElementType type, double value) {
  uint16_t bits = 0;
  StoreFromDouble(type, value, &bits);
  return bits;
}

// Whether `bits` is the nearest to `value` in its format, the even one of two that are equally near. Beyond the largest
// number stands the power of two that would come next, read as infinity.
bool IsNearestEven(double value, uint16_t bits, int exponent_bits) {
  const auto distance = [&](uint16_t other) {
    double number = Decode(other, exponent_bits);
    if (std::isinf(number)) number = std::copysign(std::ldexp(1.0, 1 << (exponent_bits - 1)), number);
    return std::fabs(number - value);
  };
  const double here = distance(bits);
  const uint16_t magnitude = bits & 0x7fff;
  for (int step : {-1, 1}) {
    if (magnitude == 0 && step < 0) continue;
    const auto neighbour = static_cast<uint16_t>(bits + step);
    if (std::isnan(Decode(neighbour, exponent_bits))) continue;
    const double there = distance(neighbour);
    if (there < here || (there == here && (bits & 1) != 0)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every half and every bfloat16 has the value that IEEE 754 defines and survives a round trip") {
  for (uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const double half = Decode(bits, 5), bfloat = Decode(bits, 8);
    if (std::isnan(half)) {
      CHECK(std::isnan(HalfToFloat(bits)));
      CHECK(std::isnan(HalfToFloat(FloatToHalf(HalfToFloat(bits)))));
    } else if (HalfToFloat(bits) != static_cast<float>(half) || FloatToHalf(HalfToFloat(bits)) != bits) {
      FAIL("half " << bits);
    }
    if (std::isnan(bfloat)) {
      CHECK(std::isnan(Bfloat16ToFloat(FloatToBfloat16(Bfloat16ToFloat(bits)))));
    } else if (Bfloat16ToFloat(bits) != static_cast<float>(bfloat) || FloatToBfloat16(Bfloat16ToFloat(bits)) != bits) {
      FAIL("bfloat16 " << bits);
    }
  }
}

TEST_CASE("doubles are rounded once, to the nearest 16-bit float, ties to even") {
  SplitMix64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const double half = std::ldexp(2 * random.Uniform() - 1, static_cast<int>(random.Below(45)) - 27);
    if (!IsNearestEven(half, Store16(v1::F16, half), 5)) FAIL("f16 of " << half);
    const double bfloat = std::ldexp(2 * random.Uniform() - 1, static_cast<int>(random.Below(270)) - 140);
    if (!IsNearestEven(bfloat, Store16(v1::BF16, bfloat), 8)) FAIL("bf16 of " << bfloat);
  }
  // Halfway between neighbours, and a trifle beside: rounding through float first would lose the trifle.
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const double middle = (Decode(bits, 5) + Decode(static_cast<uint16_t>(bits + 1), 5)) / 2;
    const uint16_t even = (bits & 1) == 0 ? bits : static_cast<uint16_t>(bits + 1);
    if (Store16(v1::F16, middle) != even) FAIL("tie above " << bits);
    if (Store16(v1::F16, std::nextafter(middle, 1e9)) != bits + 1) FAIL("above the tie above " << bits);
    if (Store16(v1::F16, std::nextafter(middle, 0)) != bits) FAIL("below the tie above " << bits);
  }
  CHECK(Store16(v1::F16, 65519.99) == 0x7bff);
  CHECK(Store16(v1::F16, 65520) == 0x7c00);
  CHECK(Store16(v1::F16, -1e300) == 0xfc00);
  CHECK(Store16(v1::BF16, 1e300) == 0x7f80);
  CHECK(Store16(v1::F16, -0.0) == 0x8000);
  CHECK(Store16(v1::F16, 1e-300) == 0);
}

TEST_CASE("integers are truncated toward zero and wrap") {
  const auto stored = [](v1::ElementType type, double value) {
    char bytes[8];
    StoreFromDouble(type, value, bytes);
    return LoadAsDouble(type, bytes);
  };
  CHECK(stored(v1::I32, -3.9) == -3);
  CHECK(stored(v1::U8, 256 + 7) == 7);
  CHECK(stored(v1::U8, -1) == 255);
  CHECK(stored(v1::I8, 128) == -128);
  CHECK(stored(v1::I16, -32769) == 32767);
  CHECK(stored(v1::U64, 0x1p63) == 0x1p63);
  CHECK(stored(v1::I64, -0x1p63) == -0x1p63);
  CHECK(stored(v1::I32, 0x1p32 * 0x1p40 + 0) == 0);
  CHECK(stored(v1::U32, std::numeric_limits<double>::quiet_NaN()) == 0);
}

TEST_CASE("each element type has its size and name, and unknown names have none") {
  const size_t sizes[] = {2, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8};
  for (int number = 1; number <= 12; ++number) {
    const auto type = static_cast<v1::ElementType>(number);
    CHECK(SizeOf(type) == sizes[number - 1]);
    CHECK(ElementTypeByName(NameOf(type)) == type);
  }
  CHECK(NameOf(v1::BF16) == "bf16");
  CHECK(CudaNameOf(v1::F16) == "__half");
  CHECK_FALSE(ElementTypeByName("F32"));
  CHECK_FALSE(ElementTypeByName("unspecified"));
  CHECK_FALSE(ElementTypeByName(""));
  CHECK(SizeOf(static_cast<v1::ElementType>(77)) == 0);
}

TEST_CASE("elements are read at addresses of any alignment") {
  char bytes[16] = {};
  StoreFromDouble(v1::F64, 1.25, bytes + 3);
  CHECK(LoadAsDouble(v1::F64, bytes + 3) == 1.25);
}

}  // namespace fsr
