#include "server/search/end_job.h"

#include "common/status_macros.h"
#include "server/search/lesson.h"

namespace fsr {

absl::Status EndJob(Store* store, JobId job, v1::Job::State state, const std::string& reason) {
  ASSIGN_OR_RETURN(const JobFacts facts, store->LoadFacts(job));
  return store->EndJob(job, state, reason, LessonOf(facts));
}

}  // namespace fsr
