// Fills input buffers. The same seed gives the same bytes every time (NORMAL: with the same math library); another seed
// gives unrelated ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "fsr/v1/task.pb.h"

namespace fsr {

// A Data message with its bounds evaluated for one case.
struct ResolvedData {
  v1::ElementType type = v1::F32;
  v1::Data::Distribution distribution = v1::Data::UNIFORM;
  double low = 0, high = 0;                    // floating-point types
  __int128 integer_low = 0, integer_high = 0;  // integer types: [low, high)
  double mean = 0, standard_deviation = 1;     // NORMAL; integers are rounded and kept within their type
};

// What `parameter` is filled with in `which`: Case.data, else Parameter.data, else the default of its type.
// INVALID_ARGUMENT names parameter, field and value: a bound that is no number and no size expression, does not fit the
// type, or an empty range (allowed if the buffer has no element to be filled: element_count == 0).
absl::StatusOr<ResolvedData> ResolveData(const v1::Parameter& parameter, const v1::Case& which, int64_t element_count);

// REQUIRES: `bytes` is aligned for the type and holds whole elements.
void FillData(const ResolvedData& data, uint64_t seed, std::span<std::byte> bytes);

}  // namespace fsr
