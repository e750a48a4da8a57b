#include "common/argument_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "common/element_type.h"
#include "fmt/format.h"

namespace fsr {
namespace {

// The least and the greatest value, the latter as far as int64_t reaches.
template <typename T>
std::pair<int64_t, int64_t> LimitsOf() {
  constexpr auto kMax = std::numeric_limits<T>::max();
  constexpr auto kCommonMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return {static_cast<int64_t>(std::numeric_limits<T>::min()),
          static_cast<int64_t>(std::min(static_cast<uint64_t>(kMax), kCommonMax))};
}

std::optional<std::pair<int64_t, int64_t>> IntegerLimits(v1::ElementType type) {
  switch (type) {
    case v1::I8:
      return LimitsOf<int8_t>();
    case v1::I16:
      return LimitsOf<int16_t>();
    case v1::I32:
      return LimitsOf<int32_t>();
    case v1::I64:
      return LimitsOf<int64_t>();
    case v1::U8:
      return LimitsOf<uint8_t>();
    case v1::U16:
      return LimitsOf<uint16_t>();
    case v1::U32:
      return LimitsOf<uint32_t>();
    case v1::U64:
      return LimitsOf<uint64_t>();
    default:
      return std::nullopt;
  }
}

template <typename Number>
absl::Status DoesNotFit(v1::ElementType type, Number value) {
  return absl::InvalidArgumentError(fmt::format("{} does not fit into {}", value, NameOf(type)));
}

// Whether a double is a whole number within an integer type.
bool IsWholeNumberOf(v1::ElementType type, double value) {
  if (std::trunc(value) != value) return false;
  if (type == v1::U64) return value >= 0 && value < 0x1.0p64;
  if (type == v1::I64) return value >= -0x1.0p63 && value < 0x1.0p63;
  const auto limits = *IntegerLimits(type);
  return value >= static_cast<double>(limits.first) && value <= static_cast<double>(limits.second);
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> IntegerArgument(v1::ElementType type, int64_t value) {
  const auto limits = IntegerLimits(type);
  if (!limits) return absl::InvalidArgumentError(fmt::format("{} is no integer type", NameOf(type)));
  if (value < limits->first || value > limits->second) return DoesNotFit(type, value);
  std::vector<uint8_t> bytes(SizeOf(type));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
  return bytes;
}

absl::StatusOr<std::vector<uint8_t>> ScalarArgument(v1::ElementType type, double value) {
  std::vector<uint8_t> bytes(SizeOf(type));
  if (bytes.empty()) return absl::InvalidArgumentError("the scalar has no type");
  if (!IsFloatingPoint(type) && !IsWholeNumberOf(type, value)) return DoesNotFit(type, value);
  StoreFromDouble(type, value, bytes.data());
  if (std::isfinite(value) && !std::isfinite(LoadAsDouble(type, bytes.data()))) return DoesNotFit(type, value);
  return bytes;
}

}  // namespace fsr
