// What the wrong elements have in common, in words: where they lie, and what they hold. A claim is made only if it is
// true of every wrong element.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "worker/judge/compare.h"

namespace fsr {

// Another buffer of the same type and size that the wrong elements may have been taken from.
struct Suspect {
  std::string what;  // "the input `x`", "the result of the run before"
  std::span<const std::byte> bytes;
};

// "only the last 1 of 65 columns"; empty if nothing was found. Pure. REQUIRES: something is wrong.
std::string DescribeWhere(const WrongSet& wrong, std::span<const int64_t> shape);

// "all of them unwritten"; empty if nothing was found. Pure. REQUIRES: something is wrong.
std::string DescribeWhat(const ComparedBuffers& buffers, const BufferComparison& comparison,
                         std::span<const int64_t> shape, const v1::Tolerance& tolerance,
                         std::span<const Suspect> suspects);

// Both, joined: Mismatch.pattern.
std::string DescribePattern(const ComparedBuffers& buffers, const BufferComparison& comparison,
                            std::span<const int64_t> shape, const v1::Tolerance& tolerance,
                            std::span<const Suspect> suspects);

}  // namespace fsr
