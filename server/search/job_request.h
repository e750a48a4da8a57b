// What a request for a job must hold, and what it means where it says nothing.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/search/coordinator.h"

namespace fsr {

// INVALID_ARGUMENT names the limit that is no time. `where` is what holds the limits.
absl::Status CheckLimits(const v1::Limits& limits, const std::string& where);

// Fills in the defaults (among them a drawn seed) and returns the hash of the prompt templates that the job will use.
// INVALID_ARGUMENT says what to change.
absl::StatusOr<std::string> CompleteJobRequest(const Coordinator::Options& options, v1::CreateJobRequest* request);

}  // namespace fsr
