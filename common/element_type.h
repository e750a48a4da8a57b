// The element types of buffers and scalars: sizes, names, and conversion from and to double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fsr/v1/task.pb.h"

namespace fsr {

size_t SizeOf(v1::ElementType type);                // bytes; REQUIRES: not UNSPECIFIED
std::string_view NameOf(v1::ElementType type);      // "f32"
std::string_view CudaNameOf(v1::ElementType type);  // "float", "__half", "int"
std::optional<v1::ElementType> ElementTypeByName(std::string_view name);
bool IsFloatingPoint(v1::ElementType type);

// One element at `address` (any alignment). 64-bit integers beyond 2^53 lose digits: compare those as bits.
double LoadAsDouble(v1::ElementType type, const void* address);
// Rounds to nearest even; integers are truncated and wrap.
void StoreFromDouble(v1::ElementType type, double value, void* address);

float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);  // to nearest even
float Bfloat16ToFloat(uint16_t bits);
uint16_t FloatToBfloat16(float value);  // to nearest even; NaN stays NaN

}  // namespace fsr
