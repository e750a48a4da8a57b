#include "worker/judge/data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "worker/judge/elements.h"
#include "worker/judge/parallel.h"

namespace fsr {
namespace {

// Random bits as a function of (seed, counter): no state is carried from one element to the next, so that the loops
// below run at several elements a cycle. The finisher of splitmix64, which passes BigCrush on counters.
inline uint64_t BitsAt(uint64_t seed, uint64_t counter) {
  uint64_t z = seed + (counter + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// The elements from bits: `from64(bits)` with 64 random bits each.
template <typename Stored, typename From64>
void FillFrom64(uint64_t seed, std::span<Stored> out, const From64& from64) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = from64(BitsAt(seed, i));
}

// The same with 32 random bits each, two elements for one draw.
template <typename Stored, typename From32>
void FillFrom32(uint64_t seed, std::span<Stored> out, const From32& from32) {
  const size_t pairs = out.size() / 2;
  for (size_t i = 0; i < pairs; ++i) {
    const uint64_t bits = BitsAt(seed, i);
    out[2 * i] = from32(static_cast<uint32_t>(bits));
    out[2 * i + 1] = from32(static_cast<uint32_t>(bits >> 32));
  }
  if (out.size() % 2 != 0) out.back() = from32(static_cast<uint32_t>(BitsAt(seed, pairs)));
}

// The largest value of the format that is below `high`: rounding must not make the open end a closed one.
template <typename Element>
double LargestBelow(const Element& element, double high) {
  if constexpr (std::is_floating_point_v<typename Element::Stored>) {
    using Stored = typename Element::Stored;
    Stored value = element.FromDouble(high);
    while (!(static_cast<double>(value) < high)) {
      value = std::nextafter(value, -std::numeric_limits<Stored>::infinity());
    }
    return static_cast<double>(value);
  } else {
    // 16-bit formats: the step is a matter of the bits, down for a positive value and up in magnitude below zero.
    uint16_t bits = element.FromDouble(high);
    while (!(element.ToDouble(bits) < high)) {
      if ((bits & 0x7fff) == 0) {
        bits = 0x8001;  // from either zero to the smallest negative value
      } else {
        bits = static_cast<uint16_t>((bits & 0x8000) != 0 ? bits + 1 : bits - 1);
      }
    }
    return element.ToDouble(bits);
  }
}

template <typename Element>
void FillUniformFloat(const Element& element, const ResolvedData& data, uint64_t seed,
                      std::span<typename Element::Stored> out) {
  const double low = data.low, span = data.high - data.low, largest = LargestBelow(element, data.high);
  if constexpr (sizeof(typename Element::Stored) == sizeof(double)) {
    FillFrom64(seed, out, [&](uint64_t bits) {
      return element.FromDouble(std::min(low + static_cast<double>(bits >> 11) * 0x1p-53 * span, largest));
    });
  } else {
    const double step = span * 0x1p-32;
    FillFrom32(seed, out, [&](uint32_t bits) {
      return element.FromDouble(std::min(low + static_cast<double>(bits) * step, largest));
    });
  }
}

template <typename Stored>
void FillUniformInteger(const ResolvedData& data, uint64_t seed, std::span<Stored> out) {
  const auto low = static_cast<uint64_t>(data.integer_low);  // modulo 2^64, as is all that follows
  const auto count = static_cast<unsigned __int128>(data.integer_high - data.integer_low);
  if (count <= (uint64_t{1} << 32)) {
    const auto count64 = static_cast<uint64_t>(count);
    FillFrom32(seed, out, [&](uint32_t bits) { return static_cast<Stored>(low + ((bits * count64) >> 32)); });
  } else {
    FillFrom64(seed, out,
               [&](uint64_t bits) { return static_cast<Stored>(low + static_cast<uint64_t>((bits * count) >> 64)); });
  }
}

// Rounds and keeps within the type; floating-point types take the value as it is.
template <typename Element>
typename Element::Stored FromNormal(const Element& element, double value) {
  if constexpr (Element::kInteger) {
    using Limits = std::numeric_limits<typename Element::Stored>;
    const double rounded = std::nearbyint(value);
    // The largest 64-bit integers round up as doubles: compare before converting.
    if (rounded >= static_cast<double>(Limits::max())) return Limits::max();
    if (rounded <= static_cast<double>(Limits::lowest())) return Limits::lowest();
    return static_cast<typename Element::Stored>(rounded);
  } else {
    return element.FromDouble(value);
  }
}

// Box and Muller: two normal values from one draw of 64 bits. In single precision unless the element shows more.
template <typename Element>
void FillNormal(const Element& element, const ResolvedData& data, uint64_t seed,
                std::span<typename Element::Stored> out) {
  using Real = std::conditional_t<sizeof(typename Element::Stored) == sizeof(double), double, float>;
  constexpr Real kTurn = static_cast<Real>(0x1p-32 * 2 * std::numbers::pi);
  for (size_t i = 0; i < out.size(); i += 2) {
    const uint64_t bits = BitsAt(seed, i / 2);
    // In (0, 1], so that the logarithm is finite.
    const Real u = (static_cast<Real>(static_cast<uint32_t>(bits)) + 1) * static_cast<Real>(0x1p-32);
    const Real angle = static_cast<Real>(bits >> 32) * kTurn;
    const double radius = static_cast<double>(std::sqrt(-2 * std::log(u))) * data.standard_deviation;
    out[i] = FromNormal(element, data.mean + radius * static_cast<double>(std::cos(angle)));
    if (i + 1 < out.size()) {
      out[i + 1] = FromNormal(element, data.mean + radius * static_cast<double>(std::sin(angle)));
    }
  }
}

// Data are drawn part by part, each from a seed of its own, so that they are the same on any number of cores.
constexpr size_t kPartBytes = size_t{4} << 20;

void FillPart(const ResolvedData& data, uint64_t seed, std::span<std::byte> bytes) {
  VisitElementType(data.type, [&](const auto& element) {
    using Element = std::remove_cvref_t<decltype(element)>;
    using Stored = typename Element::Stored;
    const std::span<Stored> out = ElementsOf<Stored>(bytes);
    if (data.distribution == v1::Data::NORMAL) {
      FillNormal(element, data, seed, out);
    } else if (data.distribution == v1::Data::CONSTANT) {
      if constexpr (Element::kInteger) {
        std::fill(out.begin(), out.end(), static_cast<Stored>(data.integer_low));
      } else {
        std::fill(out.begin(), out.end(), element.FromDouble(data.low));
      }
    } else if constexpr (Element::kInteger) {
      FillUniformInteger(data, seed, out);
    } else {
      FillUniformFloat(element, data, seed, out);
    }
  });
}

}  // namespace

void FillData(const ResolvedData& data, uint64_t seed, std::span<std::byte> bytes) {
  ParallelFor(bytes.size(), kPartBytes, [&](size_t begin, size_t end) {
    FillPart(data, BitsAt(seed, begin), bytes.subspan(begin, end - begin));
  });
}

}  // namespace fsr
