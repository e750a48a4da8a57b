// Sizes and scalars as a kernel receives them: little-endian bytes of the declared type.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "fsr/v1/task.pb.h"

namespace fsr {

// INVALID_ARGUMENT if the value does not fit into `type`, or `type` is no integer.
absl::StatusOr<std::vector<uint8_t>> IntegerArgument(v1::ElementType type, int64_t value);

// The same for scalars. An integer type takes whole numbers only; a floating-point type rounds, but a finite value must
// not become infinite.
absl::StatusOr<std::vector<uint8_t>> ScalarArgument(v1::ElementType type, double value);

}  // namespace fsr
