// The generator "tune": no model, but a search over the `// fsr: tune` lines of the task's tunable kernel.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "server/generators/generator.h"

namespace fsr {

// Each answer is the tunable kernel with one configuration pinned. What is proposed follows from the job's seed and its
// facts alone; results of the round that is asked about are not looked at, so that a round asked again after a crash is
// the same round. INVALID_ARGUMENT if the task has no tunable kernel.
absl::StatusOr<std::unique_ptr<Generator>> NewTune(const v1::GeneratorSpec& spec, const v1::Task& task);

}  // namespace fsr
