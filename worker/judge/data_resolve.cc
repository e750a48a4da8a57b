#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "common/element_type.h"
#include "common/size_expression.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"
#include "worker/judge/data.h"
#include "worker/judge/elements.h"

namespace fsr {
namespace {

struct IntegerRange {
  __int128 lowest = 0, highest = 0;
};

IntegerRange RangeOf(v1::ElementType type) {
  return VisitElementType(type, [](auto element) {
    using Stored = typename decltype(element)::Stored;
    if constexpr (decltype(element)::kInteger) {
      return IntegerRange{std::numeric_limits<Stored>::lowest(), std::numeric_limits<Stored>::max()};
    } else {
      return IntegerRange{};
    }
  });
}

// The whole of `text` as a number of type T.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

absl::StatusOr<int64_t> EvaluateBound(std::string_view text, const v1::Case& which) {
  ASSIGN_OR_RETURN(const SizeExpression expression, SizeExpression::Parse(text));
  return expression.Evaluate(SizeBindings(which.sizes().begin(), which.sizes().end()));
}

absl::StatusOr<__int128> IntegerBound(std::string_view text, const v1::Case& which) {
  if (const auto value = ParseNumber<int64_t>(text)) return *value;
  if (const auto value = ParseNumber<uint64_t>(text)) return *value;
  if (const auto value = ParseNumber<double>(text);
      value && std::abs(*value) < 0x1p63 && *value == std::trunc(*value)) {
    return static_cast<int64_t>(*value);  // "1e6"
  }
  ASSIGN_OR_RETURN(const int64_t value, EvaluateBound(text, which));
  return value;
}

absl::StatusOr<double> FloatBound(std::string_view text, const v1::Case& which) {
  if (const auto value = ParseNumber<double>(text)) return *value;
  ASSIGN_OR_RETURN(const int64_t value, EvaluateBound(text, which));
  return static_cast<double>(value);
}

absl::Status ResolveIntegerBounds(const v1::Data& data, const v1::Case& which, int64_t element_count,
                                  ResolvedData& resolved) {
  const IntegerRange range = RangeOf(resolved.type);
  ASSIGN_OR_RETURN(resolved.integer_low, IntegerBound(data.low().empty() ? "0" : data.low(), which));
  if (resolved.integer_low < range.lowest || resolved.integer_low > range.highest) {
    return absl::InvalidArgumentError(fmt::format("low: {} does not fit {}", data.low(), NameOf(resolved.type)));
  }
  if (resolved.distribution == v1::Data::CONSTANT) return absl::OkStatus();
  ASSIGN_OR_RETURN(resolved.integer_high, IntegerBound(data.high().empty() ? "128" : data.high(), which));
  if (resolved.integer_high - 1 > range.highest) {
    return absl::InvalidArgumentError(
        fmt::format("high: {}, which is excluded, lies beyond what {} can hold", data.high(), NameOf(resolved.type)));
  }
  if (element_count > 0 && resolved.integer_low >= resolved.integer_high) {
    return absl::InvalidArgumentError(
        fmt::format("there is no integer from low = {} to below high = {}; high must be above low",
                    static_cast<int64_t>(resolved.integer_low), static_cast<int64_t>(resolved.integer_high)));
  }
  return absl::OkStatus();
}

absl::Status ResolveFloatBounds(const v1::Data& data, const v1::Case& which, int64_t element_count,
                                ResolvedData& resolved) {
  const bool constant = resolved.distribution == v1::Data::CONSTANT;
  const char* const low_default = constant ? "0" : "-1";
  ASSIGN_OR_RETURN(resolved.low, FloatBound(data.low().empty() ? low_default : data.low(), which));
  if (constant) return absl::OkStatus();
  ASSIGN_OR_RETURN(resolved.high, FloatBound(data.high().empty() ? "1" : data.high(), which));
  if (!std::isfinite(resolved.low) || !std::isfinite(resolved.high) || !std::isfinite(resolved.high - resolved.low)) {
    return absl::InvalidArgumentError(
        fmt::format("low = {} and high = {} must be finite, and so must their distance", resolved.low, resolved.high));
  }
  if (element_count > 0 && !(resolved.low < resolved.high)) {
    return absl::InvalidArgumentError(fmt::format("high = {} must be above low = {}", resolved.high, resolved.low));
  }
  return absl::OkStatus();
}

absl::Status ResolveNormal(const v1::Data& data, ResolvedData& resolved) {
  resolved.mean = data.mean();
  resolved.standard_deviation = data.standard_deviation();
  if (!std::isfinite(resolved.mean) || !std::isfinite(resolved.standard_deviation) ||
      !(resolved.standard_deviation > 0)) {
    return absl::InvalidArgumentError(fmt::format("standard_deviation = {} must be above 0 and mean = {} finite",
                                                  resolved.standard_deviation, resolved.mean));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ResolvedData> ResolveData(const v1::Parameter& parameter, const v1::Case& which, int64_t element_count) {
  const auto replaced = which.data().find(parameter.name());
  const v1::Data& data = replaced != which.data().end() ? replaced->second : parameter.data();
  ResolvedData resolved;
  resolved.type = parameter.type();
  if (data.distribution() != v1::Data::DISTRIBUTION_UNSPECIFIED) resolved.distribution = data.distribution();

  absl::Status status;
  if (resolved.distribution == v1::Data::NORMAL) {
    status = ResolveNormal(data, resolved);
  } else if (IsFloatingPoint(parameter.type())) {
    status = ResolveFloatBounds(data, which, element_count, resolved);
  } else {
    status = ResolveIntegerBounds(data, which, element_count, resolved);
  }
  if (!status.ok()) return WithContext(fmt::format("data of parameter {}", parameter.name()), status);
  return resolved;
}

}  // namespace fsr
