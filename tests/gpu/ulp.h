// How far two outputs are apart, in units in the last place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fsr/v1/task.pb.h"

namespace fsr {

// Two floating-point values are as many ulp apart as there are steps between neighbours from one to the other; -0 and 0
// are the same, and so are two NaN; a NaN and a number are farther apart than any two numbers. Integers: their
// difference.
struct UlpDistance {
  uint64_t largest = 0;
  uint64_t beyond_two = 0;  // elements that are more than 2 ulp apart

  // REQUIRES: equal numbers of whole elements.
  void Add(v1::ElementType type, std::span<const std::byte> a, std::span<const std::byte> b);
  void Add(const UlpDistance& other);
};

}  // namespace fsr
