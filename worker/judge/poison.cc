#include "worker/judge/poison.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "common/element_type.h"
#include "common/random.h"
#include "worker/judge/elements.h"
#include "worker/judge/parallel.h"

namespace fsr {
namespace {

constexpr size_t kElementsPerPart = size_t{1} << 20;  // for one thread at a time

struct Format {
  int exponent_bits = 0;
  int mantissa_bits = 0;
};

Format FormatOf(v1::ElementType type) {
  switch (type) {
    case v1::F16:
      return {5, 10};
    case v1::BF16:
      return {8, 7};
    case v1::F32:
      return {8, 23};
    default:
      return {11, 52};
  }
}

uint64_t LowMask(int bits) { return (uint64_t{1} << bits) - 1; }

// `negative` alternates with the parity of the index.
uint64_t FloatBits(v1::ElementType type, PoisonKind kind, bool negative, uint64_t random) {
  const Format format = FormatOf(type);
  const uint64_t sign = negative ? uint64_t{1} << (format.exponent_bits + format.mantissa_bits) : 0;
  const uint64_t exponent = LowMask(format.exponent_bits);
  const uint64_t quiet = uint64_t{1} << (format.mantissa_bits - 1);
  // Neither all zeros nor all ones: the payloads that hardware makes.
  const uint64_t payload = std::clamp(random & LowMask(format.mantissa_bits - 1), uint64_t{1}, quiet - 2);
  if (kind == PoisonKind::kInvalid) return sign | exponent << format.mantissa_bits | quiet | payload;
  return sign | (exponent - 1) << format.mantissa_bits | payload;  // finite, within a factor of 4 of the largest
}

uint64_t IntegerBits(v1::ElementType type, PoisonKind kind, bool odd, uint64_t random) {
  const int bits = static_cast<int>(SizeOf(type)) * 8;
  const uint64_t low = random & LowMask(bits - 4);
  // The four highest bits. kInvalid: large in magnitude whether signed or not. kExtreme: near the two ends of the type.
  const bool is_signed = type == v1::I8 || type == v1::I16 || type == v1::I32 || type == v1::I64;
  uint64_t top = odd ? 0xd : 0xa;
  if (kind == PoisonKind::kExtreme) top = is_signed ? (odd ? 0x8 : 0x7) : (odd ? 0x0 : 0xf);
  return top << (bits - 4) | low;
}

}  // namespace

Poison::Poison(v1::ElementType type, PoisonKind kind, uint64_t seed) : type_(type), kind_(kind) {
  SplitMix64 random(seed);
  for (int parity = 0; parity < 2; ++parity) {
    const bool odd = parity == 1;
    bits_[parity] =
        IsFloatingPoint(type) ? FloatBits(type, kind, odd, random()) : IntegerBits(type, kind, odd, random());
  }
}

void Poison::Fill(std::span<std::byte> bytes) const {
  const size_t element = SizeOf(type_);
  for (size_t i = 0; i < 2 && i * element < bytes.size(); ++i) {
    std::memcpy(bytes.data() + i * element, &bits_[i], element);  // little-endian, as every host of CUDA is
  }
  for (size_t done = std::min(2 * element, bytes.size()); done < bytes.size(); done *= 2) {
    std::memcpy(bytes.data() + done, bytes.data(), std::min(done, bytes.size() - done));
  }
}

uint64_t Poison::CountIn(std::span<const std::byte> bytes) const {
  return VisitElementType(type_, [&](const auto& element) {
    using Stored = typename std::remove_cvref_t<decltype(element)>::Stored;
    std::atomic<uint64_t> count = 0;
    ParallelFor(bytes.size() / sizeof(Stored), kElementsPerPart, [&](size_t begin, size_t end) {
      uint64_t here = 0;
      for (size_t i = begin; i < end; ++i) {
        here += std::memcmp(bytes.data() + i * sizeof(Stored), &bits_[i & 1], sizeof(Stored)) == 0 ? 1 : 0;
      }
      count += here;
    });
    return count.load();
  });
}

}  // namespace fsr
