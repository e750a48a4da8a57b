#include "server/search/coordinator.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "common/random.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "server/search/end_job.h"
#include "server/search/job_notes.h"
#include "server/search/job_request.h"
#include "server/search/job_runner.h"

namespace fsr {
namespace {

// How long the supervisor sleeps at most; changes of the store wake it.
constexpr absl::Duration kLookAgainAfter = absl::Minutes(1);
constexpr absl::Duration kAfterStoreTrouble = absl::Seconds(1);

}  // namespace

// A supervisor thread starts and joins one thread a running job. Only it (and Stop, after it has ended) touches
// `running_`.
class Coordinator::Impl {
 public:
  Impl(Store* store, Clock* clock, Options options) : store_(store), clock_(clock), options_(std::move(options)) {
    if (!options_.new_generator) options_.new_generator = NewGenerator;
    if (!options_.new_seed) options_.new_seed = RandomSeed;
  }
  ~Impl() { Stop(); }

  void Start() {
    absl::MutexLock lock(&mutex_);
    if (supervisor_.joinable()) return;
    stopping_ = false;
    supervisor_ = std::thread([this] { Supervise(); });
  }

  void Stop() {
    absl::MutexLock lock(&mutex_);
    if (!supervisor_.joinable()) return;
    stopping_ = true;
    store_->changes().Notify();
    supervisor_.join();
  }

  absl::StatusOr<v1::Job> CreateJob(v1::CreateJobRequest request) {
    const std::string content_hash = ContentHash(request);
    ASSIGN_OR_RETURN(const std::string prompts_hash, CompleteJobRequest(options_, &request));
    ASSIGN_OR_RETURN(Store::CreatedJob created, store_->CreateJob(request, prompts_hash, content_hash));
    return std::move(created.job);
  }

  absl::StatusOr<v1::Job> CancelJob(const std::string& name) {
    ASSIGN_OR_RETURN(const JobId job, store_->FindJob(name));
    RETURN_IF_ERROR(EndJob(store_, job, v1::Job::CANCELLED, "cancelled by request"));
    return store_->GetJob(name);
  }

  std::string NoteOf(const std::string& name) const { return notes_.Of(name); }

 private:
  struct Running {
    std::thread thread;
    std::atomic<bool> done{false};
  };

  void Supervise() {
    while (true) {
      const uint64_t seen = store_->changes().Version();
      if (stopping_) break;
      JoinEnded();
      const absl::Status status = StartWaiting();
      if (!status.ok()) spdlog::warn("The jobs cannot be read, trying again: {}", MessageOf(status));
      store_->changes().AwaitChange(seen, clock_->Now() + (status.ok() ? kLookAgainAfter : kAfterStoreTrouble));
    }
    for (auto& [job, running] : running_) running.thread.join();
    running_.clear();
  }

  void JoinEnded() {
    for (auto it = running_.begin(); it != running_.end();) {
      if (it->second.done) {
        it->second.thread.join();
        it = running_.erase(it);
      } else {
        ++it;
      }
    }
  }

  absl::Status StartWaiting() {
    ASSIGN_OR_RETURN(const std::vector<JobId> unfinished, store_->UnfinishedJobs());
    for (const JobId job : unfinished) {
      if (running_.size() >= static_cast<size_t>(options_.running_jobs_max)) break;
      if (running_.count(job) != 0) continue;
      Running& running = running_[job];
      running.thread = std::thread([this, job, &running] {
        JobRunner(job, store_, clock_, &options_, &stopping_, &notes_).Run();
        running.done = true;
        store_->changes().Notify();  // a place is free
      });
    }
    return absl::OkStatus();
  }

  Store* const store_;
  Clock* const clock_;
  Options options_;
  std::atomic<bool> stopping_{false};
  std::map<JobId, Running> running_;
  JobNotes notes_;

  absl::Mutex mutex_;  // of Start and Stop
  std::thread supervisor_ ABSL_GUARDED_BY(mutex_);
};

Coordinator::Coordinator(Store* store, Clock* clock, Options options)
    : impl_(std::make_unique<Impl>(store, clock, std::move(options))) {}
Coordinator::~Coordinator() = default;
void Coordinator::Start() { impl_->Start(); }
void Coordinator::Stop() { impl_->Stop(); }
absl::StatusOr<v1::Job> Coordinator::CreateJob(v1::CreateJobRequest request) {
  return impl_->CreateJob(std::move(request));
}
absl::StatusOr<v1::Job> Coordinator::CancelJob(const std::string& name) { return impl_->CancelJob(name); }
std::string Coordinator::NoteOf(const std::string& name) const { return impl_->NoteOf(name); }

}  // namespace fsr
