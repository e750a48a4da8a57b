// One function on values becomes one operation on lanes: Kernel<F>() is a loop over 32 lanes round F, with its types
// taken from F's signature. Unless the whole build asks for AVX2, the loops are compiled twice, for any x86-64 and for
// one with AVX2 and FMA, so that a fused multiply-add is one instruction where the machine has it (and right, if slow,
// where it has not).
#pragma once

#include <bit>
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "worker/device/sim/alu.h"

// A call that is left in a loop over lanes keeps it from being vectorised.
#define FSR_ALWAYS_INLINE __attribute__((always_inline))
#define FSR_INLINE inline FSR_ALWAYS_INLINE

#if defined(__clang__)
#define FSR_LANES_ARE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define FSR_LANES_ARE_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace fsr::sim::alu {

// Storage types that C++ has no arithmetic for; alu_formats.h converts them. Scalars, for the vectoriser's sake.
enum class F16 : uint16_t {};
enum class BF16 : uint16_t {};
inline uint32_t Raw(F16 half) { return static_cast<uint32_t>(half); }
inline uint32_t Raw(BF16 half) { return static_cast<uint32_t>(half); }

// As the first parameter of a function: it receives AluOperation::parameter.
struct Parameter {
  uint64_t value;
};

inline constexpr uint32_t kCanonicalNan32 = 0x7fffffffu;  // PTX ISA: f32 has no NaN payloads
inline constexpr uint16_t kCanonicalNan16 = 0x7fffu;      // f16 and bf16 alike

template <class T>
inline T FromLane(uint64_t lane) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<uint32_t>(lane));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(lane);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(static_cast<uint16_t>(lane));
  } else {
    return static_cast<T>(lane);
  }
}

template <class T>
inline uint64_t ToLane(T value) {
  if constexpr (std::is_same_v<T, float>) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    return (bits & 0x7fffffffu) > 0x7f800000u ? kCanonicalNan32 : bits;
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(value);
  } else if constexpr (std::is_enum_v<T>) {
    return Raw(value);
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

inline uint64_t SelectBits(LaneMask mask, int lane) { return uint64_t{0} - uint64_t{(mask >> lane) & 1u}; }

// compute(i) becomes lane i of the destination, for each lane of `mask`. The destination may be a source of compute.
template <class Compute>
FSR_INLINE void StoreLanes(LaneMask mask, Lanes* destination, Compute compute) {
  if (destination == nullptr) return;
  uint64_t* out = destination->lane.data();
  if (mask == kFullMask) {
    FSR_LANES_ARE_INDEPENDENT
    for (int i = 0; i < kWarpSize; ++i) out[i] = compute(i);
  } else {
    FSR_LANES_ARE_INDEPENDENT
    for (int i = 0; i < kWarpSize; ++i) {
      const uint64_t select = SelectBits(mask, i);
      out[i] = (compute(i) & select) | (out[i] & ~select);
    }
  }
}

template <auto kFunction, class Signature = decltype(kFunction)>
struct Mapping;

template <auto kFunction, class R, class... A>
struct Mapping<kFunction, R (*)(A...)> {
  template <size_t... I>
  static FSR_INLINE void Run(const AluArguments& arguments, std::index_sequence<I...>) {
    const uint64_t* const in[] = {arguments.sources[I]->lane.data()...};
    StoreLanes(arguments.mask, arguments.destination,
               [&](int i) FSR_ALWAYS_INLINE { return ToLane<R>(kFunction(FromLane<A>(in[I][i])...)); });
  }
  static FSR_INLINE void Run(const AluOperation&, const AluArguments& arguments) {
    Run(arguments, std::index_sequence_for<A...>());
  }
};

template <auto kFunction, class R, class... A>
struct Mapping<kFunction, R (*)(Parameter, A...)> {
  template <size_t... I>
  static FSR_INLINE void Run(Parameter parameter, const AluArguments& arguments, std::index_sequence<I...>) {
    const uint64_t* const in[] = {arguments.sources[I]->lane.data()...};
    StoreLanes(arguments.mask, arguments.destination,
               [&](int i) FSR_ALWAYS_INLINE { return ToLane<R>(kFunction(parameter, FromLane<A>(in[I][i])...)); });
  }
  static FSR_INLINE void Run(const AluOperation& operation, const AluArguments& arguments) {
    Run(Parameter{operation.parameter}, arguments, std::index_sequence_for<A...>());
  }
};

// Anything with a static Run(operation, arguments), compiled for this machine.
template <class Body>
void RunAnywhere(const AluOperation& operation, const AluArguments& arguments) {
  Body::Run(operation, arguments);
}
#if defined(__x86_64__) && !defined(__AVX2__)
template <class Body>
__attribute__((target("avx2,fma"))) void RunWithAvx2(const AluOperation& operation, const AluArguments& arguments) {
  Body::Run(operation, arguments);
}
template <class Body>
AluFunction Compiled() {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has_avx2 ? &RunWithAvx2<Body> : &RunAnywhere<Body>;
}
#else
template <class Body>
AluFunction Compiled() {
  return &RunAnywhere<Body>;
}
#endif

template <auto kFunction>
AluFunction Kernel() {
  return Compiled<Mapping<kFunction>>();
}

// The same under the C rounding mode in `parameter` (FE_UPWARD …). The lanes are in memory that fesetround might
// touch, for all the compiler knows, so that no operation moves across the calls.
template <auto kFunction>
struct RoundedMapping {
  static void Run(const AluOperation& operation, const AluArguments& arguments) {
    const int before = std::fegetround();
    std::fesetround(static_cast<int>(operation.parameter));
    asm volatile("" ::: "memory");
    Kernel<kFunction>()(operation, arguments);
    asm volatile("" ::: "memory");
    std::fesetround(before);
  }
};

template <auto kFunction>
AluFunction RoundedKernel() {
  return &RoundedMapping<kFunction>::Run;
}

// F on two 16-bit halves of 32-bit words.
template <auto kFunction, class Signature = decltype(kFunction)>
struct Packed;

template <auto kFunction, class R, class... A>
struct Packed<kFunction, R (*)(A...)> {
  template <class>
  using Word = uint32_t;
  static FSR_INLINE uint32_t Apply(Word<A>... words) {
    const uint64_t low = ToLane<R>(kFunction(FromLane<A>(words & 0xffffu)...));
    const uint64_t high = ToLane<R>(kFunction(FromLane<A>(words >> 16)...));
    return static_cast<uint32_t>(low | high << 16);
  }
};

template <auto kFunction, class R, class... A>
struct Packed<kFunction, R (*)(Parameter, A...)> {
  template <class>
  using Word = uint32_t;
  static FSR_INLINE uint32_t Apply(Parameter parameter, Word<A>... words) {
    const uint64_t low = ToLane<R>(kFunction(parameter, FromLane<A>(words & 0xffffu)...));
    const uint64_t high = ToLane<R>(kFunction(parameter, FromLane<A>(words >> 16)...));
    return static_cast<uint32_t>(low | high << 16);
  }
};

}  // namespace fsr::sim::alu
