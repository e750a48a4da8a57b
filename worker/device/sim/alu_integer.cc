// Integer arithmetic. Products and sums are taken in 64 or 128 bits without sign, where C++ defines overflow.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "worker/device/sim/alu_families.h"
#include "worker/device/sim/alu_map.h"

namespace fsr::sim::alu {
namespace {

template <class T>
using Twice =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                       std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                                          std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

// The low half of sums and products is the same with and without sign: T is unsigned.
template <class T>
T Add(T a, T b) {
  return static_cast<T>(uint64_t{a} + uint64_t{b});
}
template <class T>
T Subtract(T a, T b) {
  return static_cast<T>(uint64_t{a} - uint64_t{b});
}
template <class T>
T MultiplyLow(T a, T b) {
  return static_cast<T>(uint64_t{a} * uint64_t{b});
}
template <class T>
T MadLow(T a, T b, T c) {
  return static_cast<T>(uint64_t{a} * uint64_t{b} + uint64_t{c});
}

template <class T>
Twice<T> MultiplyWide(T a, T b) {
  return static_cast<Twice<T>>(static_cast<Twice<T>>(a) * static_cast<Twice<T>>(b));
}
template <class T>
Twice<T> MadWide(T a, T b, Twice<T> c) {
  using U = std::make_unsigned_t<Twice<T>>;
  return static_cast<Twice<T>>(static_cast<U>(MultiplyWide(a, b)) + static_cast<U>(c));
}
template <class T>
T MultiplyHigh(T a, T b) {
  return static_cast<T>(MultiplyWide(a, b) >> (8 * sizeof(T)));
}
template <class T>
T MadHigh(T a, T b, T c) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(Add<U>(static_cast<U>(MultiplyHigh(a, b)), static_cast<U>(c)));
}

int32_t Clamp32(int64_t value) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}
int32_t AddSaturating(int32_t a, int32_t b) { return Clamp32(int64_t{a} + b); }
int32_t SubtractSaturating(int32_t a, int32_t b) { return Clamp32(int64_t{a} - b); }
int32_t MadHighSaturating(int32_t a, int32_t b, int32_t c) { return Clamp32(int64_t{MultiplyHigh(a, b)} + c); }

// The low 24 bits of a word, with the sign of bit 23 for a signed type.
template <class T>
int64_t Low24(T value) {
  const uint32_t shifted = static_cast<uint32_t>(value) << 8;
  return std::is_signed_v<T> ? static_cast<int32_t>(shifted) >> 8 : static_cast<int64_t>(shifted >> 8);
}
template <class T>
T Multiply24Low(T a, T b) {
  return static_cast<T>(Low24(a) * Low24(b));
}
template <class T>
T Multiply24High(T a, T b) {
  return static_cast<T>((Low24(a) * Low24(b)) >> 16);
}
template <class T>
T Mad24Low(T a, T b, T c) {
  return static_cast<T>(Add(static_cast<uint32_t>(Multiply24Low(a, b)), static_cast<uint32_t>(c)));
}
template <class T>
T Mad24High(T a, T b, T c) {
  return static_cast<T>(Add(static_cast<uint32_t>(Multiply24High(a, b)), static_cast<uint32_t>(c)));
}
int32_t Mad24HighSaturating(int32_t a, int32_t b, int32_t c) { return Clamp32(int64_t{Multiply24High(a, b)} + c); }

// Division by zero is "machine-specific" in the ISA: the GPUs give all ones, and the dividend as remainder.
template <class T>
T Divide(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(a));
  }
  return static_cast<T>(a / b);
}
template <class T>
T Remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

template <class T>
T Absolute(T a) {
  return a < 0 ? static_cast<T>(-static_cast<std::make_unsigned_t<T>>(a)) : a;
}
template <class T>
T Negate(T a) {
  return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(a));
}
template <class T>
T Minimum(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T Maximum(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T MinimumRelu(T a, T b) {
  return Maximum<T>(Minimum(a, b), 0);
}
template <class T>
T MaximumRelu(T a, T b) {
  return Maximum<T>(Maximum(a, b), 0);
}

template <class T>
T SumOfAbsoluteDifference(T a, T b, T c) {
  using U = std::make_unsigned_t<T>;
  const U difference =
      a < b ? Subtract<U>(static_cast<U>(b), static_cast<U>(a)) : Subtract<U>(static_cast<U>(a), static_cast<U>(b));
  return static_cast<T>(Add<U>(static_cast<U>(c), difference));
}

// A byte or a 16-bit part of a word, as A says.
template <class A>
int64_t Part(uint32_t word, int index) {
  return static_cast<A>(word >> (8 * static_cast<int>(sizeof(A)) * index));
}
template <class A, class B>
uint32_t Dot4(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = c;
  for (int i = 0; i < 4; ++i) sum += Part<A>(a, i) * Part<B>(b, i);
  return static_cast<uint32_t>(sum);
}
template <class A, class B, int kFirstByte>
uint32_t Dot2(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = c;
  for (int i = 0; i < 2; ++i) sum += Part<A>(a, i) * Part<B>(b, kFirstByte + i);
  return static_cast<uint32_t>(sum);
}

AluFunction PackedSum(Type type, bool subtract) {
  if (type != Type::kU16x2 && type != Type::kS16x2) return nullptr;
  return subtract ? Kernel<&Packed<&Subtract<uint16_t>>::Apply>() : Kernel<&Packed<&Add<uint16_t>>::Apply>();
}

template <class T>
AluFunction PackedMinMax(bool maximum, bool relu) {
  if (relu) {
    return maximum ? Kernel<&Packed<&MaximumRelu<T>>::Apply>() : Kernel<&Packed<&MinimumRelu<T>>::Apply>();
  }
  return maximum ? Kernel<&Packed<&Maximum<T>>::Apply>() : Kernel<&Packed<&Minimum<T>>::Apply>();
}

}  // namespace

absl::StatusOr<AluOperation> DecodeIntegerAddSub(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  if (!type) return reader.Unknown();
  const bool subtract = reader.instruction().opcode == "sub";
  AluOperation operation;
  if (*type == Type::kS32 && reader.Take("sat")) {
    operation.function = subtract ? Kernel<&SubtractSaturating>() : Kernel<&AddSaturating>();
  } else if (IsPacked(*type)) {
    operation.function = PackedSum(*type, subtract);
  } else {
    operation.function = ForWidth(*type, [&](auto zero) {
      using T = decltype(zero);
      return subtract ? Kernel<&Subtract<T>>() : Kernel<&Add<T>>();
    });
  }
  return reader.Finish(operation, {*type, *type});
}

absl::StatusOr<AluOperation> DecodeIntegerMul(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  const std::optional<int> part = reader.TakeOneOf({"lo", "hi", "wide"});
  if (!type || !part) return reader.Unknown();
  AluOperation operation;
  if (*part == 0) {
    operation.function = ForWidth(*type, [](auto zero) { return Kernel<&MultiplyLow<decltype(zero)>>(); });
  } else {
    operation.function = ForInteger(*type, [&](auto zero) -> AluFunction {
      using T = decltype(zero);
      if (*part == 1) return Kernel<&MultiplyHigh<T>>();
      if constexpr (sizeof(T) < 8) return Kernel<&MultiplyWide<T>>();
      return nullptr;
    });
  }
  return reader.Finish(operation, {*type, *type});
}

absl::StatusOr<AluOperation> DecodeIntegerMad(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  const std::optional<int> part = reader.TakeOneOf({"lo", "hi", "wide"});
  if (!type || !part) return reader.Unknown();
  AluOperation operation;
  if (*part == 0) {
    operation.function = ForWidth(*type, [](auto zero) { return Kernel<&MadLow<decltype(zero)>>(); });
  } else if (*part == 1 && *type == Type::kS32 && reader.Take("sat")) {
    operation.function = Kernel<&MadHighSaturating>();
  } else {
    operation.function = ForInteger(*type, [&](auto zero) -> AluFunction {
      using T = decltype(zero);
      if (*part == 1) return Kernel<&MadHigh<T>>();
      if constexpr (sizeof(T) < 8) return Kernel<&MadWide<T>>();
      return nullptr;
    });
  }
  // The addend of .wide is twice as wide.
  const int bits = *part == 2 ? 2 * BitsOf(*type) : BitsOf(*type);
  const Type addend = bits == 16 ? Type::kB16 : bits == 32 ? Type::kB32 : Type::kB64;
  return reader.Finish(operation, {*type, *type, addend});
}

absl::StatusOr<AluOperation> DecodeMul24(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  const std::optional<int> part = reader.TakeOneOf({"lo", "hi"});
  if (!type || !part || (*type != Type::kU32 && *type != Type::kS32)) return reader.Unknown();
  const bool high = *part == 1;
  const bool add = reader.instruction().opcode == "mad24";
  AluOperation operation;
  if (add && high && *type == Type::kS32 && reader.Take("sat")) {
    operation.function = Kernel<&Mad24HighSaturating>();
  } else {
    operation.function = ForInteger(*type, [&](auto zero) -> AluFunction {
      using T = decltype(zero);
      if (add) return high ? Kernel<&Mad24High<T>>() : Kernel<&Mad24Low<T>>();
      return high ? Kernel<&Multiply24High<T>>() : Kernel<&Multiply24Low<T>>();
    });
  }
  if (add) return reader.Finish(operation, {*type, *type, *type});
  return reader.Finish(operation, {*type, *type});
}

absl::StatusOr<AluOperation> DecodeIntegerBinary(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  if (!type) return reader.Unknown();
  const bool divide = reader.instruction().opcode == "div";
  AluOperation operation;
  operation.function = ForInteger(*type, [&](auto zero) {
    using T = decltype(zero);
    return divide ? Kernel<&Divide<T>>() : Kernel<&Remainder<T>>();
  });
  return reader.Finish(operation, {*type, *type});
}

absl::StatusOr<AluOperation> DecodeIntegerMinMax(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  if (!type) return reader.Unknown();
  const bool maximum = reader.instruction().opcode == "max";
  const bool relu = (*type == Type::kS32 || *type == Type::kS16x2) && reader.Take("relu");
  AluOperation operation;
  if (*type == Type::kU16x2) {
    operation.function = PackedMinMax<uint16_t>(maximum, false);
  } else if (*type == Type::kS16x2) {
    operation.function = PackedMinMax<int16_t>(maximum, relu);
  } else if (relu) {
    operation.function = maximum ? Kernel<&MaximumRelu<int32_t>>() : Kernel<&MinimumRelu<int32_t>>();
  } else {
    operation.function = ForInteger(*type, [&](auto zero) {
      using T = decltype(zero);
      return maximum ? Kernel<&Maximum<T>>() : Kernel<&Minimum<T>>();
    });
  }
  return reader.Finish(operation, {*type, *type});
}

absl::StatusOr<AluOperation> DecodeIntegerUnary(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  if (!type || !IsSigned(*type)) return reader.Unknown();
  const bool negate = reader.instruction().opcode == "neg";
  AluOperation operation;
  operation.function = ForInteger(*type, [&](auto zero) -> AluFunction {
    using T = decltype(zero);
    if constexpr (std::is_signed_v<T>) return negate ? Kernel<&Negate<T>>() : Kernel<&Absolute<T>>();
    return nullptr;
  });
  return reader.Finish(operation, {*type});
}

absl::StatusOr<AluOperation> DecodeSad(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  if (!type) return reader.Unknown();
  AluOperation operation;
  operation.function = ForInteger(*type, [](auto zero) { return Kernel<&SumOfAbsoluteDifference<decltype(zero)>>(); });
  return reader.Finish(operation, {*type, *type, *type});
}

absl::StatusOr<AluOperation> DecodeDotProduct(Reader& reader) {
  const bool four = reader.instruction().opcode == "dp4a";
  const std::optional<Type> a = reader.TakeType(), b = reader.TakeType();
  const std::optional<int> half = four ? std::optional(0) : reader.TakeOneOf({"lo", "hi"});
  const auto is_word = [](std::optional<Type> type) { return type == Type::kU32 || type == Type::kS32; };
  if (!is_word(a) || !is_word(b) || !half) return reader.Unknown();
  const auto choose = [&](auto a16, auto a8, auto b8) -> AluFunction {
    using A16 = decltype(a16);
    using A8 = decltype(a8);
    using B8 = decltype(b8);
    if (four) return Kernel<&Dot4<A8, B8>>();
    return *half == 0 ? Kernel<&Dot2<A16, B8, 0>>() : Kernel<&Dot2<A16, B8, 2>>();
  };
  const auto choose_b = [&](auto a16, auto a8) {
    return *b == Type::kS32 ? choose(a16, a8, int8_t{}) : choose(a16, a8, uint8_t{});
  };
  AluOperation operation;
  operation.function = *a == Type::kS32 ? choose_b(int16_t{}, int8_t{}) : choose_b(uint16_t{}, uint8_t{});
  return reader.Finish(operation, {Type::kB32, Type::kB32, Type::kB32});
}

}  // namespace fsr::sim::alu
