// The generator "replay": the answers of a recorded job, in their order, whatever is asked.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "fsr/v1/recording.pb.h"
#include "server/generators/generator.h"

namespace fsr {

inline constexpr int kRecordingBytesMax = 16 << 20;

// The prompt with number k of a job gets the k-th entry in the order of round and slot; OUT_OF_RANGE beyond the last.
// INVALID_ARGUMENT if the option "recording" is missing or is not a recording of `task`.
absl::StatusOr<std::unique_ptr<Generator>> NewReplay(const v1::GeneratorSpec& spec, const v1::Task& task);

}  // namespace fsr
