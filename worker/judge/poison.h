// What output and scratch memory holds before a launch: values that a right result will not show by luck.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fsr/v1/task.pb.h"

namespace fsr {

// Elements with an even index get one bit pattern, odd ones another. Two kinds, since each has a hole:
// kInvalid: NaN for floating-point types, with a payload nobody computes; large values for integers. A kernel that
//   takes max(output, x) gets x back from a NaN, and a NaN passes where the oracle has NaN.
// kExtreme: nearly the largest and the lowest value in turn. Finite, so neither hole is open.
enum class PoisonKind { kInvalid, kExtreme };

class Poison {
 public:
  // The seed makes payloads and low bits differ run by run.
  Poison(v1::ElementType type, PoisonKind kind, uint64_t seed);

  // REQUIRES: whole elements.
  void Fill(std::span<std::byte> bytes) const;
  // The pattern of element `index`, in the low bits.
  uint64_t BitsAt(uint64_t index) const { return bits_[index & 1]; }
  PoisonKind kind() const { return kind_; }
  v1::ElementType type() const { return type_; }

  // How many elements of `bytes` still hold the pattern.
  uint64_t CountIn(std::span<const std::byte> bytes) const;

 private:
  v1::ElementType type_;
  PoisonKind kind_;
  uint64_t bits_[2];
};

}  // namespace fsr
