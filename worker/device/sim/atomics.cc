#include "worker/device/sim/atomics.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "common/element_type.h"

namespace fsr::sim {
namespace {

template <typename Word, typename Change>
uint64_t Update(std::byte* at, Change change) {
  std::atomic_ref<Word> word(*reinterpret_cast<Word*>(at));
  Word old = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(old, change(old), std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
  return old;
}

// ---- Integers. `T` carries the signedness that min and max need. ----

template <typename T>
struct Integers {
  using Word = std::make_unsigned_t<T>;
  static uint64_t Add(std::byte* at, uint64_t value, uint64_t) {
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(at)).fetch_add(static_cast<Word>(value));
  }
  static uint64_t Min(std::byte* at, uint64_t value, uint64_t) {
    const T other = static_cast<T>(value);
    return Update<Word>(at, [=](Word old) { return static_cast<T>(old) < other ? old : static_cast<Word>(other); });
  }
  static uint64_t Max(std::byte* at, uint64_t value, uint64_t) {
    const T other = static_cast<T>(value);
    return Update<Word>(at, [=](Word old) { return static_cast<T>(old) > other ? old : static_cast<Word>(other); });
  }
  static uint64_t And(std::byte* at, uint64_t value, uint64_t) {
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(at)).fetch_and(static_cast<Word>(value));
  }
  static uint64_t Or(std::byte* at, uint64_t value, uint64_t) {
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(at)).fetch_or(static_cast<Word>(value));
  }
  static uint64_t Xor(std::byte* at, uint64_t value, uint64_t) {
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(at)).fetch_xor(static_cast<Word>(value));
  }
  static uint64_t Exchange(std::byte* at, uint64_t value, uint64_t) {
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(at)).exchange(static_cast<Word>(value));
  }
  static uint64_t CompareAndSwap(std::byte* at, uint64_t value, uint64_t swap) {
    Word expected = static_cast<Word>(value);
    std::atomic_ref<Word>(*reinterpret_cast<Word*>(at)).compare_exchange_strong(expected, static_cast<Word>(swap));
    return expected;
  }
  // PTX: old >= b ? 0 : old + 1, and (old == 0 || old > b) ? b : old - 1.
  static uint64_t Increment(std::byte* at, uint64_t value, uint64_t) {
    const Word limit = static_cast<Word>(value);
    return Update<Word>(at, [=](Word old) { return static_cast<Word>(old >= limit ? 0 : old + 1); });
  }
  static uint64_t Decrement(std::byte* at, uint64_t value, uint64_t) {
    const Word limit = static_cast<Word>(value);
    return Update<Word>(at, [=](Word old) { return static_cast<Word>(old == 0 || old > limit ? limit : old - 1); });
  }
  static AtomicFunction Find(std::string_view operation) {
    if (operation == "add") return Add;
    if (operation == "min") return Min;
    if (operation == "max") return Max;
    if (operation == "and") return And;
    if (operation == "or") return Or;
    if (operation == "xor") return Xor;
    if (operation == "exch") return Exchange;
    if (operation == "cas") return CompareAndSwap;
    if (operation == "inc") return Increment;
    if (operation == "dec") return Decrement;
    return nullptr;
  }
};

// ---- Floating point ----

float Flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value; }

template <bool kFlush>
uint64_t AddF32(std::byte* at, uint64_t value, uint64_t) {
  const float other = std::bit_cast<float>(static_cast<uint32_t>(value));
  return Update<uint32_t>(at, [=](uint32_t old) {
    const float now = std::bit_cast<float>(old);
    return std::bit_cast<uint32_t>(kFlush ? Flushed(Flushed(now) + Flushed(other)) : now + other);
  });
}

uint64_t AddF64(std::byte* at, uint64_t value, uint64_t) {
  const double other = std::bit_cast<double>(value);
  return Update<uint64_t>(at,
                          [=](uint64_t old) { return std::bit_cast<uint64_t>(std::bit_cast<double>(old) + other); });
}

// 16-bit floats. A sum or comparison of two is exact in f32, so it is rounded once.
template <float (*kToFloat)(uint16_t), uint16_t (*kFromFloat)(float)>
struct Small {
  static uint16_t Add(uint16_t a, uint16_t b) { return kFromFloat(kToFloat(a) + kToFloat(b)); }
  // The number where the other is NaN; -0 is less than +0.
  static uint16_t Min(uint16_t a, uint16_t b) { return IsNan(b) || (!IsNan(a) && Less(a, b)) ? a : b; }
  static uint16_t Max(uint16_t a, uint16_t b) { return IsNan(b) || (!IsNan(a) && Less(b, a)) ? a : b; }

  template <uint16_t (*kOperation)(uint16_t, uint16_t)>
  static uint64_t One(std::byte* at, uint64_t value, uint64_t) {
    return Update<uint16_t>(at, [=](uint16_t old) { return kOperation(old, static_cast<uint16_t>(value)); });
  }
  template <uint16_t (*kOperation)(uint16_t, uint16_t)>
  static uint64_t Pair(std::byte* at, uint64_t value, uint64_t) {
    return Update<uint32_t>(at, [=](uint32_t old) {
      const uint32_t low = kOperation(static_cast<uint16_t>(old), static_cast<uint16_t>(value));
      const uint32_t high = kOperation(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(value >> 16));
      return low | (high << 16);
    });
  }
  static AtomicFunction Find(std::string_view operation, bool pair) {
    if (operation == "add") return pair ? Pair<Add> : One<Add>;
    if (operation == "min") return pair ? Pair<Min> : One<Min>;
    if (operation == "max") return pair ? Pair<Max> : One<Max>;
    return nullptr;
  }

 private:
  static bool IsNan(uint16_t a) { return std::isnan(kToFloat(a)); }
  static bool Less(uint16_t a, uint16_t b) {
    const float left = kToFloat(a), right = kToFloat(b);
    return left < right || (left == right && std::signbit(left) && !std::signbit(right));
  }
};
using Half = Small<HalfToFloat, FloatToHalf>;
using Brain = Small<Bfloat16ToFloat, FloatToBfloat16>;

// ---- redux ----

template <typename T>
AtomicFold FindIntegerFold(std::string_view operation) {
  using U = std::make_unsigned_t<T>;
  if (operation == "add") return [](uint64_t a, uint64_t b) -> uint64_t { return static_cast<U>(a + b); };
  if (operation == "min") {
    return [](uint64_t a, uint64_t b) -> uint64_t { return static_cast<T>(a) < static_cast<T>(b) ? a : b; };
  }
  if (operation == "max") {
    return [](uint64_t a, uint64_t b) -> uint64_t { return static_cast<T>(a) > static_cast<T>(b) ? a : b; };
  }
  if (operation == "and") return [](uint64_t a, uint64_t b) { return a & b; };
  if (operation == "or") return [](uint64_t a, uint64_t b) { return a | b; };
  if (operation == "xor") return [](uint64_t a, uint64_t b) { return a ^ b; };
  return nullptr;
}

template <float (*kPick)(float, float)>
uint64_t FoldFloats(uint64_t a, uint64_t b) {
  const float picked =
      kPick(std::bit_cast<float>(static_cast<uint32_t>(a)), std::bit_cast<float>(static_cast<uint32_t>(b)));
  return std::bit_cast<uint32_t>(picked);
}
float Least(float a, float b) { return std::fmin(a, b); }
float Greatest(float a, float b) { return std::fmax(a, b); }

}  // namespace

AtomicFunction FindAtomic(std::string_view operation, std::string_view type, bool flush_subnormals) {
  if (operation == "exch" || operation == "cas") {
    if (type == "b16") return Integers<uint16_t>::Find(operation);
    if (type == "b32") return Integers<uint32_t>::Find(operation);
    if (type == "b64") return Integers<uint64_t>::Find(operation);
  }
  if (type == "u32" || type == "b32") return Integers<uint32_t>::Find(operation);
  if (type == "s32") return Integers<int32_t>::Find(operation);
  if (type == "u64" || type == "b64") return Integers<uint64_t>::Find(operation);
  if (type == "s64") return Integers<int64_t>::Find(operation);
  if (type == "f32" && operation == "add") return flush_subnormals ? AddF32<true> : AddF32<false>;
  if (type == "f64" && operation == "add") return AddF64;
  if (type == "f16" || type == "f16x2") return Half::Find(operation, type == "f16x2");
  if (type == "bf16" || type == "bf16x2") return Brain::Find(operation, type == "bf16x2");
  return nullptr;
}

AtomicFold FindFold(std::string_view operation, std::string_view type) {
  if (type == "s32") return FindIntegerFold<int32_t>(operation);
  if (type == "u32" || type == "b32") return FindIntegerFold<uint32_t>(operation);
  if (type == "f32" && operation == "min") return FoldFloats<Least>;
  if (type == "f32" && operation == "max") return FoldFloats<Greatest>;
  return nullptr;
}

}  // namespace fsr::sim
