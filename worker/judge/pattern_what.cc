#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "fmt/format.h"
#include "worker/judge/elements.h"
#include "worker/judge/pattern.h"

namespace fsr {
namespace {

// Fewer wrong elements than this prove nothing about how values are related.
constexpr uint64_t kRelationCountMin = 3;
constexpr int64_t kShiftMax = 64;
constexpr double kFactorDistanceMin = 0.01;  // nearer to 1 it is a matter of precision
constexpr double kPrecisionFactorMax = 10;   // times the tolerance

// Relative spacing of the format's values, with room for a few roundings.
double RoundingOf(v1::ElementType type) {
  switch (type) {
    case v1::F16:
      return 0x1p-8;
    case v1::BF16:
      return 0x1p-5;
    case v1::F32:
      return 0x1p-20;
    case v1::F64:
      return 0x1p-48;
    default:
      return 0;
  }
}

// "2 times", "a third of" as "1/3 of", "-1 times".
std::string DescribeFactor(double factor) {
  const auto whole = [](double value) { return std::abs(value - std::round(value)) < 1e-3 * std::abs(value); };
  if (whole(factor) && std::round(factor) != 0) return fmt::format("{:.0f} times", std::round(factor));
  if (whole(1 / factor)) {
    const double divisor = std::round(1 / factor);
    return fmt::format("{}1/{:.0f} of", divisor < 0 ? "-" : "", std::abs(divisor));
  }
  return fmt::format("{:.4g} times", factor);
}

template <typename Element>
class Finder {
 public:
  Finder(const Element& element, const ComparedBuffers& buffers, const BufferComparison& comparison,
         std::span<const int64_t> shape, const v1::Tolerance& tolerance)
      : element_(element),
        got_(ElementsOf<Stored>(buffers.got)),
        expected_(ElementsOf<Stored>(buffers.expected)),
        wrong_(comparison.wrong),
        comparison_(comparison),
        shape_(shape),
        tolerance_(tolerance),
        rounding_(RoundingOf(buffers.type)) {}

  std::string Find(std::span<const Suspect> suspects) const {
    if (comparison_.unwritten_count == wrong_.count()) return AllOfThem("unwritten");
    if (comparison_.nan_count == wrong_.count()) return AllOfThem("NaN");
    if (std::string text = SameValue(); !text.empty()) return text;
    if (wrong_.count() < kRelationCountMin) return "";
    for (const Suspect& suspect : suspects) {
      if (IsCopyOf(suspect)) return fmt::format("each holds the same element of {}", suspect.what);
    }
    if (IsTransposed()) return "each holds what belongs at the transposed position";
    if (const auto shift = Shift()) {
      return *shift > 0 ? fmt::format("each holds what belongs {} elements further on", *shift)
                        : fmt::format("each holds what belongs {} elements before", -*shift);
    }
    if (const auto factor = Factor()) return fmt::format("each is {} the expected value", DescribeFactor(*factor));
    if (const auto offset = Offset()) return fmt::format("each is the expected value {:+.6g}", *offset);
    if (const auto times = TimesTolerance(); times && *times <= kPrecisionFactorMax) {
      return fmt::format("each within {:.1f} times the tolerance: a matter of precision", *times);
    }
    return "";
  }

 private:
  using Stored = typename Element::Stored;

  std::string AllOfThem(const std::string& what) const { return wrong_.count() == 1 ? what : "all of them " + what; }
  double Got(uint64_t index) const { return element_.ToDouble(got_[index]); }
  double Expected(uint64_t index) const { return element_.ToDouble(expected_[index]); }
  double Allowed(double expected) const { return tolerance_.absolute() + tolerance_.relative() * std::abs(expected); }
  bool Close(double value, double expected) const {
    return value == expected || std::abs(value - expected) <= Allowed(expected);
  }
  uint64_t FirstWrong() const {
    uint64_t first = 0;
    wrong_.ForEach([&](uint64_t index) {
      first = index;
      return false;
    });
    return first;
  }

  std::string SameValue() const {
    const double value = Got(FirstWrong());
    if (!wrong_.ForEach([&](uint64_t index) { return Got(index) == value; })) return "";
    if (value == 0) return AllOfThem("zero");
    return wrong_.count() > 1 ? AllOfThem(fmt::format("{}", value)) : "";
  }

  bool IsCopyOf(const Suspect& suspect) const {
    const auto other = ElementsOf<Stored>(suspect.bytes);
    return other.size() == got_.size() &&
           wrong_.ForEach([&](uint64_t i) { return std::memcmp(&other[i], &got_[i], sizeof(Stored)) == 0; });
  }

  bool IsTransposed() const {
    if (shape_.size() < 2) return false;
    const auto rows = static_cast<uint64_t>(shape_[shape_.size() - 2]), columns = static_cast<uint64_t>(shape_.back());
    if (rows < 2 || columns < 2) return false;
    return wrong_.ForEach([&](uint64_t index) {
      const uint64_t matrix = index / (rows * columns) * (rows * columns), inside = index - matrix;
      return Close(Got(index), Expected(matrix + inside % columns * rows + inside / columns));
    });
  }

  // Elements whose source would lie outside of the buffer say nothing; at least half must say yes.
  bool IsShiftedBy(int64_t shift) const {
    uint64_t inside = 0;
    const bool all = wrong_.ForEach([&](uint64_t index) {
      const int64_t source = static_cast<int64_t>(index) + shift;
      if (source < 0 || source >= static_cast<int64_t>(got_.size())) return true;
      ++inside;
      return Close(Got(index), Expected(static_cast<uint64_t>(source)));
    });
    return all && inside >= kRelationCountMin && 2 * inside >= wrong_.count();
  }

  std::optional<int64_t> Shift() const {
    const int64_t columns = shape_.empty() ? 0 : shape_.back();
    for (int64_t distance = 1; distance <= kShiftMax; ++distance) {
      if (IsShiftedBy(distance)) return distance;
      if (IsShiftedBy(-distance)) return -distance;
    }
    if (shape_.size() > 1 && columns > kShiftMax) {  // a row too far
      if (IsShiftedBy(columns)) return columns;
      if (IsShiftedBy(-columns)) return -columns;
    }
    return std::nullopt;
  }

  std::optional<double> Factor() const {
    uint64_t reference = 0;
    double largest = 0;
    wrong_.ForEach([&](uint64_t index) {
      const double magnitude = std::abs(Expected(index));
      if (std::isfinite(magnitude) && magnitude > largest) {
        largest = magnitude;
        reference = index;
      }
      return true;
    });
    if (largest == 0) return std::nullopt;
    const double factor = Got(reference) / Expected(reference);
    if (!std::isfinite(factor) || factor == 0 || std::abs(factor - 1) < kFactorDistanceMin) return std::nullopt;
    const double half = Element::kInteger ? 0.5 : 0;  // a rounded or truncated product
    const bool all = wrong_.ForEach([&](uint64_t index) {
      const double scaled = factor * Expected(index);
      const double slack = half + rounding_ * std::abs(scaled) + std::abs(factor) * Allowed(Expected(index));
      return std::abs(Got(index) - scaled) <= slack;
    });
    return all ? std::optional(factor) : std::nullopt;
  }

  std::optional<double> Offset() const {
    const uint64_t first = FirstWrong();
    const double offset = Got(first) - Expected(first);
    if (!std::isfinite(offset)) return std::nullopt;
    const bool all = wrong_.ForEach([&](uint64_t index) {
      const double slack =
          Allowed(Expected(index)) + rounding_ * std::max(std::abs(Got(index)), std::abs(Expected(index)));
      // An offset that the slack could swallow is none.
      return std::abs(offset) > 4 * slack && std::abs(Got(index) - Expected(index) - offset) <= slack;
    });
    return all ? std::optional(offset) : std::nullopt;
  }

  // The largest error as a multiple of what is allowed; nullopt if nothing but equality is.
  std::optional<double> TimesTolerance() const {
    double times = 0;
    wrong_.ForEach([&](uint64_t index) {
      const double here = std::abs(Got(index) - Expected(index)) / Allowed(Expected(index));
      times = std::isnan(here) ? std::numeric_limits<double>::infinity() : std::max(times, here);
      return times <= kPrecisionFactorMax;
    });
    return Element::kInteger ? std::nullopt : std::optional(times);
  }

  const Element& element_;
  std::span<const Stored> got_, expected_;
  const WrongSet& wrong_;
  const BufferComparison& comparison_;
  std::span<const int64_t> shape_;
  const v1::Tolerance& tolerance_;
  double rounding_;
};

}  // namespace

std::string DescribeWhat(const ComparedBuffers& buffers, const BufferComparison& comparison,
                         std::span<const int64_t> shape, const v1::Tolerance& tolerance,
                         std::span<const Suspect> suspects) {
  return VisitElementType(buffers.type, [&](const auto& element) {
    using Element = std::remove_cvref_t<decltype(element)>;
    return Finder<Element>(element, buffers, comparison, shape, tolerance).Find(suspects);
  });
}

}  // namespace fsr
