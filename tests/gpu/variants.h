// Kernels to compare devices and harnesses with: a task's baseline and seeded choices of its tunables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fsr/v1/task.pb.h"

namespace fsr {

struct Variant {
  std::string label;  // "baseline", or "TILE=32 VEC=4"
  std::string source;
};

// `count` different choices (fewer if there are not so many), the same for the same seed. The first is the default one.
absl::StatusOr<std::vector<Variant>> TunableVariants(const v1::Task& task, int count, uint64_t seed);

}  // namespace fsr
