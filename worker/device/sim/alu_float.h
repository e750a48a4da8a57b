// What the modifiers .ftz and .sat do to single precision, round any function of floats.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "worker/device/sim/alu_map.h"

namespace fsr::sim::alu {

// A subnormal number becomes a zero of its sign.
inline float Flush(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

inline F16 Flush(F16 value) {
  return (Raw(value) & 0x7c00u) == 0 ? F16{static_cast<uint16_t>(Raw(value) & 0x8000u)} : value;
}
inline BF16 Flush(BF16 value) {
  return (Raw(value) & 0x7f80u) == 0 ? BF16{static_cast<uint16_t>(Raw(value) & 0x8000u)} : value;
}

// To [0, 1]; a NaN and -0 become +0.
template <class T>
T Saturate(T value) {
  return value > T{0} ? (value < T{1} ? value : T{1}) : T{0};
}

// F with its float sources and its result flushed, its result saturated.
template <auto kFunction, bool kFlush, bool kSaturate, class Signature = decltype(kFunction)>
struct Flagged;

template <auto kFunction, bool kFlush, bool kSaturate, class... A>
struct Flagged<kFunction, kFlush, kSaturate, float (*)(A...)> {
  static float Apply(A... sources) {
    if constexpr (kSaturate) return Saturate(Inner(sources...));
    return Inner(sources...);
  }
  static float Inner(A... sources) {
    if constexpr (kFlush) return Flush(kFunction(Flush(sources)...));
    return kFunction(sources...);
  }
};

struct FloatFlags {
  bool flush = false, saturate = false;
};

template <auto kFunction>
AluFunction FlaggedKernel(FloatFlags flags) {
  if (flags.flush) {
    return flags.saturate ? Kernel<&Flagged<kFunction, true, true>::Apply>()
                          : Kernel<&Flagged<kFunction, true, false>::Apply>();
  }
  return flags.saturate ? Kernel<&Flagged<kFunction, false, true>::Apply>() : Kernel<kFunction>();
}

// The same where the C rounding mode is in AluOperation::parameter.
template <auto kFunction>
AluFunction FlaggedRoundedKernel(FloatFlags flags) {
  if (flags.flush) {
    return flags.saturate ? RoundedKernel<&Flagged<kFunction, true, true>::Apply>()
                          : RoundedKernel<&Flagged<kFunction, true, false>::Apply>();
  }
  return flags.saturate ? RoundedKernel<&Flagged<kFunction, false, true>::Apply>() : RoundedKernel<kFunction>();
}

// Of two numbers the smaller or larger one, -0 below +0. A NaN loses against a number, or with kNan wins.
template <class T, bool kMaximum, bool kNan>
T Extreme(T a, T b) {
  if (a != a || b != b) {
    if (kNan) return a != a ? a : b;
    return a != a ? b : a;
  }
  if (a == b) return std::signbit(a) == kMaximum ? b : a;
  return (a < b) != kMaximum ? a : b;
}

// .xorsign.abs: the smaller or larger magnitude, with the product of the signs.
template <class T, bool kMaximum, bool kNan>
T ExtremeXorSign(T a, T b) {
  const bool negative = std::signbit(a) != std::signbit(b);
  return std::copysign(Extreme<T, kMaximum, kNan>(std::fabs(a), std::fabs(b)), negative ? T{-1} : T{1});
}

}  // namespace fsr::sim::alu
