#include "worker/judge/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "common/element_type.h"
#include "worker/judge/elements.h"
#include "worker/judge/parallel.h"

namespace fsr {
namespace {

// Elements looked at together: a run without a wrong or infinite one costs a handful of instructions an element.
constexpr size_t kRunLength = 1024;
constexpr size_t kRunsPerPart = 1024;  // for one thread at a time

struct Error {
  bool right = true;
  double absolute = 0;  // NaN or infinite where one of the values is
};

template <typename Element>
Error ErrorOf(const Element& element, typename Element::Stored got, typename Element::Stored expected,
              const v1::Tolerance& tolerance) {
  const double wanted = element.ToDouble(expected);
  if constexpr (Element::kInteger) {
    if (got == expected) return {};
    // In 64 bits modulo 2^64, so that no digit of a 64-bit integer is lost before the two are told apart.
    const uint64_t distance = got > expected ? static_cast<uint64_t>(got) - static_cast<uint64_t>(expected)
                                             : static_cast<uint64_t>(expected) - static_cast<uint64_t>(got);
    const auto absolute = static_cast<double>(distance);
    return {absolute <= tolerance.absolute() + tolerance.relative() * std::abs(wanted), absolute};
  } else {
    const double value = element.ToDouble(got);
    const double absolute = std::abs(value - wanted);
    if (std::isfinite(wanted)) {
      return {absolute <= tolerance.absolute() + tolerance.relative() * std::abs(wanted), absolute};
    }
    return {std::isnan(wanted) ? std::isnan(value) : value == wanted, absolute};
  }
}

// True if every element of the run is right and finite, or equal to the oracle's for integers; `largest` is then
// raised to the largest error. Otherwise the run has to be looked at one by one.
template <typename Element>
bool PlainlyRight(const Element& element, const typename Element::Stored* got, const typename Element::Stored* expected,
                  size_t count, const v1::Tolerance& tolerance, double& largest) {
  using Stored = typename Element::Stored;
  if constexpr (Element::kInteger) {
    return std::memcmp(got, expected, count * sizeof(Stored)) == 0;
  } else {
    const double absolute = tolerance.absolute(), relative = tolerance.relative();
    double largest_here = 0;
    uint32_t doubtful = 0;
    for (size_t i = 0; i < count; ++i) {
      const double wanted = element.ToDouble(expected[i]);
      const double error = std::abs(element.ToDouble(got[i]) - wanted);
      const double allowed = absolute + relative * std::abs(wanted);
      // An infinite expected value allows an infinite error here: the second condition sends it to the exact rule.
      doubtful |= static_cast<uint32_t>(!(error <= allowed)) |
                  static_cast<uint32_t>(!(std::abs(wanted) <= std::numeric_limits<double>::max()));
      largest_here = error > largest_here ? error : largest_here;
    }
    if (doubtful != 0) return false;
    largest = std::max(largest, largest_here);
    return true;
  }
}

// Gathers what is reported while the elements are gone through in order.
struct Gatherer {
  BufferComparison result;
  double worst = -1;  // error of result.worst_index; infinity for NaN comes after every number
  bool worst_is_nan = false;

  void AddWrong(uint64_t index, uint64_t element_count, double absolute, bool got_nan, bool unwritten) {
    result.wrong.Add(index, element_count);
    result.nan_count += got_nan ? 1 : 0;
    result.unwritten_count += unwritten ? 1 : 0;
    const bool is_nan = std::isnan(absolute);
    if (worst_is_nan || (!is_nan && absolute <= worst)) return;
    worst_is_nan = is_nan;
    worst = absolute;
    result.worst_index = index;
  }
};

template <typename Element>
BufferComparison CompareTyped(const Element& element, const ComparedBuffers& buffers, const v1::Tolerance& tolerance) {
  using Stored = typename Element::Stored;
  const auto got = ElementsOf<Stored>(buffers.got), expected = ElementsOf<Stored>(buffers.expected);
  Gatherer gatherer;
  BufferComparison& result = gatherer.result;
  // Runs that are right at a glance, on all cores; the others are gone through one by one, in order.
  const size_t runs = (expected.size() + kRunLength - 1) / kRunLength;
  std::vector<uint8_t> plain(runs);
  std::vector<double> largest(runs, 0);
  ParallelFor(runs, kRunsPerPart, [&](size_t begin, size_t end) {
    for (size_t run = begin; run < end; ++run) {
      const size_t start = run * kRunLength, length = std::min<size_t>(kRunLength, expected.size() - start);
      plain[run] = PlainlyRight(element, &got[start], &expected[start], length, tolerance, largest[run]) ? 1 : 0;
    }
  });
  for (size_t run = 0; run < runs; ++run) {
    const size_t start = run * kRunLength, end = std::min(start + kRunLength, expected.size());
    result.compared_count += end - start;
    result.largest_absolute_error = std::max(result.largest_absolute_error, largest[run]);
    if (plain[run] != 0) continue;
    for (size_t i = start; i < end; ++i) {
      const Error error = ErrorOf(element, got[i], expected[i], tolerance);
      if (std::isfinite(error.absolute)) {
        result.largest_absolute_error = std::max(result.largest_absolute_error, error.absolute);
      }
      if (error.right) continue;
      uint64_t bits = 0;
      std::memcpy(&bits, &got[i], sizeof(Stored));
      const bool unwritten = buffers.poison != nullptr && bits == buffers.poison->BitsAt(i);
      gatherer.AddWrong(i, expected.size(), error.absolute, std::isnan(element.ToDouble(got[i])), unwritten);
    }
  }
  return result;
}

v1::WrongElement WrongElementAt(uint64_t index, const ComparedBuffers& buffers, std::span<const int64_t> shape) {
  v1::WrongElement wrong;
  wrong.set_index(index);
  for (const uint64_t coordinate : PositionOf(index, shape)) wrong.add_position(coordinate);
  const size_t size = SizeOf(buffers.type);
  wrong.set_expected(LoadAsDouble(buffers.type, buffers.expected.data() + index * size));
  wrong.set_got(LoadAsDouble(buffers.type, buffers.got.data() + index * size));
  uint64_t bits = 0;
  std::memcpy(&bits, buffers.got.data() + index * size, size);
  wrong.set_unwritten(buffers.poison != nullptr && bits == buffers.poison->BitsAt(index));
  return wrong;
}

}  // namespace

BufferComparison CompareBuffers(const ComparedBuffers& buffers, const v1::Tolerance& tolerance) {
  return VisitElementType(buffers.type, [&](const auto& element) { return CompareTyped(element, buffers, tolerance); });
}

std::vector<uint64_t> PositionOf(uint64_t index, std::span<const int64_t> shape) {
  std::vector<uint64_t> position(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    position[d] = index % static_cast<uint64_t>(shape[d]);
    index /= static_cast<uint64_t>(shape[d]);
  }
  return position;
}

v1::Mismatch MismatchOf(const BufferComparison& comparison, const ComparedBuffers& buffers,
                        const std::string& parameter, std::span<const int64_t> shape) {
  v1::Mismatch mismatch;
  mismatch.set_parameter(parameter);
  for (const int64_t extent : shape) mismatch.add_shape(static_cast<uint64_t>(extent));
  mismatch.set_element_count(comparison.compared_count);
  mismatch.set_wrong_count(comparison.wrong.count());
  mismatch.set_nan_count(comparison.nan_count);
  mismatch.set_unwritten_count(comparison.unwritten_count);
  *mismatch.mutable_worst() = WrongElementAt(comparison.worst_index, buffers, shape);
  comparison.wrong.ForEach([&](uint64_t index) {
    *mismatch.add_first() = WrongElementAt(index, buffers, shape);
    return mismatch.first_size() < kMismatchFirstMax;
  });
  return mismatch;
}

}  // namespace fsr
