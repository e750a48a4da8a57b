// The end of a job, with what it found out.
#pragma once

#include <string>

#include "server/store/store.h"

namespace fsr {

// Store::EndJob, with the job's lesson for later ones. Errors are the store's.
absl::Status EndJob(Store* store, JobId job, v1::Job::State state, const std::string& reason);

}  // namespace fsr
