// Runs jobs: asks Decide what to do next, does it, stores it; nothing else remembers anything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "server/generators/generator.h"
#include "server/prompts/prompts.h"
#include "server/store/store.h"

namespace fsr {

inline constexpr int kRunningJobsMax = 16;  // others wait, QUEUED
inline constexpr uint32_t kRoundsMax = 10'000;
inline constexpr uint32_t kCandidatesPerRoundMax = 256;

// Safe for concurrent use.
class Coordinator {
 public:
  struct Options {
    PromptTemplates templates;
    // Called when a job is handed in, to check it, and when it runs; default NewGenerator.
    std::function<absl::StatusOr<std::unique_ptr<Generator>>(const v1::GeneratorSpec&, const v1::Task&)> new_generator;
    std::function<uint64_t()> new_seed;  // default RandomSeed
    int running_jobs_max = kRunningJobsMax;
  };
  // REQUIRES: `store` and `clock` outlive it.
  Coordinator(Store* store, Clock* clock, Options options);
  ~Coordinator();                            // Stop
  Coordinator(const Coordinator&) = delete;  // owns threads
  Coordinator& operator=(const Coordinator&) = delete;

  // Takes up every unfinished job of the store, and from then on new ones as they appear.
  void Start();
  // Returns when no job is being worked on; what is unfinished stays so in the store.
  void Stop();

  // Checks the request, fills in defaults, stores the job. What CreateJob of the API does.
  absl::StatusOr<v1::Job> CreateJob(v1::CreateJobRequest request);
  // Ends a job that has not ended. What CancelJob of the API does.
  absl::StatusOr<v1::Job> CancelJob(const std::string& name);
  // What trouble the job waits out now; empty: none.
  std::string NoteOf(const std::string& name) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
