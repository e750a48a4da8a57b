// Whole tiles that are wrong while others are right: a block of threads that did nothing, or the wrong work.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "worker/judge/compare.h"

namespace fsr {

// "whole 32x32 tiles, 5 of 16, the first at row 0, column 32"; for one dimension "whole blocks of 256 elements, …".
// Empty if there is no tile size from 8 to 1024 for which every tile is either wrong or right throughout.
std::string DescribeTiles(const WrongSet& wrong, std::span<const int64_t> shape);

}  // namespace fsr
