// One job, from wherever its facts say that it is to its end.
#pragma once

#include <atomic>
#include <memory>

#include "absl/time/time.h"
#include "server/search/coordinator.h"
#include "server/search/decide.h"
#include "server/search/job_notes.h"

namespace fsr {

// Waits between tries of what failed for reasons of ours: a full disk, a model that is down.
inline constexpr absl::Duration kBackoffMin = absl::Seconds(1);
inline constexpr absl::Duration kBackoffMax = absl::Seconds(60);

// For one thread. Everything it does is decided from the store's facts, so it may be destroyed, or killed, at any point
// and another one continues.
class JobRunner {
 public:
  // REQUIRES: all outlive it.
  JobRunner(JobId job, Store* store, Clock* clock, const Coordinator::Options* options,
            const std::atomic<bool>* stopping, JobNotes* notes)
      : job_(job), store_(*store), clock_(*clock), options_(*options), stopping_(*stopping), notes_(*notes) {}
  ~JobRunner() { notes_.Set(job_name_, ""); }
  JobRunner(const JobRunner&) = delete;  // what it waits for is told under its name
  JobRunner& operator=(const JobRunner&) = delete;

  // Returns when the job has ended, or soon after `stopping` became true and the store's ChangeSignal was notified.
  void Run();

 private:
  // One decision, done. An error is the store's.
  absl::Status Step(const JobFacts& facts, uint64_t seen);

  absl::Status Do(const JobFacts& facts, const decision::EvaluateBaseline&);
  absl::Status Do(const JobFacts& facts, const decision::StartRound& start);
  absl::Status Do(const JobFacts& facts, const decision::Ask& ask);
  absl::Status Do(const JobFacts& facts, const decision::MakeCandidates& make);
  absl::Status Do(const JobFacts& facts, const decision::Remeasure& remeasure);
  absl::Status Do(const JobFacts& facts, const decision::Promote& promote);
  absl::Status Do(const JobFacts& facts, const decision::End& end);

  // While a generator is still answering: what it has answered is evaluated meanwhile.
  absl::Status MakeCandidatesSoFar();

  absl::Status Fail(const std::string& reason);
  // With a fresh seed, so that nobody can know the data.
  v1::EvaluationSpec SpecFor(const JobFacts& facts, const std::string& source) const;
  // The same, to be compared with the baseline and the incumbent.
  v1::EvaluationSpec CandidateSpec(const JobFacts& facts, const std::string& source) const;
  // Tells `trouble` as what the job waits out, and pauses.
  void WaitOut(const std::string& trouble, absl::Duration* backoff, absl::Time deadline);
  // It is over, if there was any.
  void EndWait(absl::Duration* backoff);
  // Twice as long with every call since `*backoff` was last zero; ends early when the job ends or a stop is asked for.
  void Pause(absl::Duration* backoff, absl::Time deadline);
  bool IsOver();

  const JobId job_;
  Store& store_;
  Clock& clock_;
  const Coordinator::Options& options_;
  const std::atomic<bool>& stopping_;
  JobNotes& notes_;

  std::string job_name_;  // from the first look at the facts on
  std::unique_ptr<Generator> generator_;
  bool exhausted_ = false;
  absl::Duration store_backoff_, generator_backoff_;
};

}  // namespace fsr
