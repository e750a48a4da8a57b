// Bit fields, byte permutation and searches for bits, each after its pseudo code in the PTX ISA.
#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "worker/device/sim/alu_families.h"
#include "worker/device/sim/alu_map.h"

namespace fsr::sim::alu {
namespace {

uint64_t LowBits(uint32_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

// Position and length are bytes. Bits beyond the top are zeros, or the sign: of the field, or of the value where the
// field reaches beyond it.
template <class T>
T ExtractField(T a, uint32_t position_word, uint32_t length_word) {
  constexpr uint32_t kTop = 8 * sizeof(T) - 1;
  const uint32_t position = position_word & 0xffu, length = length_word & 0xffu;
  const uint64_t bits = static_cast<std::make_unsigned_t<T>>(a);
  uint64_t field = position > kTop ? 0 : bits >> position;
  const uint32_t in_value = position > kTop ? 0 : std::min(length, kTop + 1 - position);
  field &= LowBits(in_value);
  if (std::is_signed_v<T> && length != 0) {
    const uint32_t sign_position = std::min(position + length - 1, kTop);
    if ((bits >> sign_position & 1u) != 0) field |= ~LowBits(in_value);
  }
  return static_cast<T>(field);
}

template <class T>
T InsertField(T a, T b, uint32_t position_word, uint32_t length_word) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const uint32_t position = position_word & 0xffu, length = length_word & 0xffu;
  if (position >= kBits) return b;
  const T mask = static_cast<T>(LowBits(std::min(length, kBits - position)) << position);
  return static_cast<T>((b & ~mask) | ((uint64_t{a} << position) & mask));
}

// The most significant bit that is set, or for negative numbers clear.
template <class T>
uint32_t FindBit(T a) {
  using U = std::make_unsigned_t<T>;
  const U bits = std::is_signed_v<T> && a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
  return static_cast<uint32_t>(std::bit_width(bits)) - 1;  // 0xffffffff if there is none
}
template <class T>
uint32_t FindBitShiftAmount(T a) {
  const uint32_t bit = FindBit(a);
  return bit == ~0u ? bit : static_cast<uint32_t>(8 * sizeof(T)) - 1 - bit;
}

uint32_t FindNthSet(uint32_t mask, uint32_t base, int32_t offset) {
  if (offset == 0) return base < 32 && (mask >> base & 1u) != 0 ? base : ~0u;
  int64_t left = offset < 0 ? -int64_t{offset} : int64_t{offset};
  for (int64_t position = base; position >= 0 && position < 32; position += offset < 0 ? -1 : 1) {
    if ((mask >> position & 1u) != 0 && --left == 0) return static_cast<uint32_t>(position);
  }
  return ~0u;
}

uint32_t ByteOf(uint64_t bytes, uint32_t index) { return static_cast<uint32_t>(bytes >> (8 * index)) & 0xffu; }

uint32_t Permute(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = (uint64_t{b} << 32) | a;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t nibble = selector >> (4 * i) & 0xfu;
    const uint32_t byte = ByteOf(bytes, nibble & 7u);
    const uint32_t sign = (byte & 0x80u) != 0 ? 0xffu : 0u;
    result |= ((nibble & 8u) != 0 ? sign : byte) << (8 * i);
  }
  return result;
}

// The special modes choose one of four orders by the low two bits: selectors as Permute takes them, 16 bits each.
uint32_t PermuteByMode(Parameter orders, uint32_t a, uint32_t b, uint32_t c) {
  return Permute(a, b, static_cast<uint32_t>(orders.value >> (16 * (c & 3u))) & 0xffffu);
}

struct PermuteMode {
  std::string_view name;
  uint64_t orders;  // for c = 3, 2, 1, 0 from the left
};
constexpr PermuteMode kPermuteModes[] = {
    {"f4e", 0x6543'5432'4321'3210}, {"b4e", 0x0123'7012'6701'5670}, {"rc8", 0x3333'2222'1111'0000},
    {"ecl", 0x3333'3222'3211'3210}, {"ecr", 0x3210'2210'1110'0000}, {"rc16", 0x3232'1010'3232'1010},
};

template <bool kClamp>
uint32_t BitMask(uint32_t position, uint32_t width) {
  const uint32_t start = position & 31u, length = width & 31u;
  if (kClamp && position >= 32) return 0;
  const bool to_the_top = start + length >= 32 || (kClamp && width >= 32);
  return static_cast<uint32_t>((to_the_top ? ~uint64_t{0} : LowBits(start + length)) & ~LowBits(start));
}

template <class T, bool kClamp>
T Extend(T a, uint32_t width) {
  if (kClamp && width >= 32) return a;
  const uint32_t count = width & 31u;
  const uint32_t bits = static_cast<uint32_t>(a) & static_cast<uint32_t>(LowBits(count));
  const bool negative = std::is_signed_v<T> && count != 0 && (bits >> (count - 1) & 1u) != 0;
  return static_cast<T>(negative ? bits | ~static_cast<uint32_t>(LowBits(count)) : bits);
}

template <class Make>
AluFunction ForWord(Type type, Make make) {
  return BitsOf(type) < 32 ? nullptr : ForInteger(type, make);
}

}  // namespace

absl::StatusOr<AluOperation> DecodeBitField(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  if (!type) return reader.Unknown();
  AluOperation operation;
  if (reader.instruction().opcode == "bfe") {
    operation.function = ForWord(*type, [](auto zero) { return Kernel<&ExtractField<decltype(zero)>>(); });
    return reader.Finish(operation, {*type, Type::kU32, Type::kU32});
  }
  if (*type == Type::kB32) operation.function = Kernel<&InsertField<uint32_t>>();
  if (*type == Type::kB64) operation.function = Kernel<&InsertField<uint64_t>>();
  return reader.Finish(operation, {*type, *type, Type::kU32, Type::kU32});
}

absl::StatusOr<AluOperation> DecodeBfind(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  if (!type) return reader.Unknown();
  const bool shift = reader.Take("shiftamt");
  AluOperation operation;
  operation.function = ForWord(*type, [&](auto zero) {
    using T = decltype(zero);
    return shift ? Kernel<&FindBitShiftAmount<T>>() : Kernel<&FindBit<T>>();
  });
  return reader.Finish(operation, {*type});
}

absl::StatusOr<AluOperation> DecodeFns(Reader& reader) {
  AluOperation operation;
  if (reader.TakeType() == Type::kB32) operation.function = Kernel<&FindNthSet>();
  return reader.Finish(operation, {Type::kB32, Type::kB32, Type::kS32});
}

absl::StatusOr<AluOperation> DecodePrmt(Reader& reader) {
  AluOperation operation;
  if (reader.TakeType() != Type::kB32) return reader.Unknown();
  operation.function = Kernel<&Permute>();
  for (const PermuteMode& mode : kPermuteModes) {
    if (!reader.Take(mode.name)) continue;
    operation.function = Kernel<&PermuteByMode>();
    operation.parameter = mode.orders;
  }
  return reader.Finish(operation, {Type::kB32, Type::kB32, Type::kB32});
}

absl::StatusOr<AluOperation> DecodeMaskAndExtend(Reader& reader) {
  const std::optional<Type> type = reader.TakeType();
  const std::optional<int> mode = reader.TakeOneOf({"clamp", "wrap"});
  if (!type || !mode) return reader.Unknown();
  const bool clamp = *mode == 0;
  AluOperation operation;
  if (reader.instruction().opcode == "bmsk") {
    if (*type == Type::kB32) operation.function = clamp ? Kernel<&BitMask<true>>() : Kernel<&BitMask<false>>();
  } else if (*type == Type::kU32) {
    operation.function = clamp ? Kernel<&Extend<uint32_t, true>>() : Kernel<&Extend<uint32_t, false>>();
  } else if (*type == Type::kS32) {
    operation.function = clamp ? Kernel<&Extend<int32_t, true>>() : Kernel<&Extend<int32_t, false>>();
  }
  return reader.Finish(operation, {*type, Type::kU32});
}

}  // namespace fsr::sim::alu
