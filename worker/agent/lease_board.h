// The leases that a worker holds and how far each is: what the agent's threads share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "fsr/v1/worker.pb.h"
#include "worker/runner/evaluate.h"

namespace fsr {

// One lease. The threads that work on it share it; what is not constant is guarded by the board, but `prepared`, which
// is set once, before kPrepared.
struct LeasedWork {
  explicit LeasedWork(v1::Assignment given) : assignment(std::move(given)) {}
  const v1::Assignment assignment;

  enum class State { kQueued, kPreparing, kPrepared, kRunning, kFinished, kReturned };
  State state = State::kQueued;
  std::string phase = "queue";
  std::shared_ptr<Evaluator::Prepared> prepared;
  v1::Evaluation evaluation;  // kFinished
  std::string return_reason;  // kReturned
};

// Safe for concurrent use. Life of a lease: queued -> preparing -> prepared -> running -> finished, or returned from
// any of the first four; it leaves the board when the coordinator has recorded its end, or wants it abandoned.
class LeaseBoard {
 public:
  // `lease_count_max` leases at once.
  LeaseBoard(size_t lease_count_max, Clock* clock);

  // ---- For the thread that talks to the coordinator ----
  // Fills in the leases, how many more are wanted, draining, unhealthy, and the waiting and busy times.
  void Report(v1::SynchronizeRequest* request);
  void Apply(const v1::SynchronizeResponse& response);
  // Until something has changed that the coordinator should hear now, or `patience` has passed.
  void AwaitNews(absl::Duration patience);
  // Until `pause` has passed, or Drain was called after this: news do not hurry a coordinator that does not answer.
  void Pause(absl::Duration pause);
  bool empty();
  // No new work; what has not finished is returned.
  void Drain();
  bool Drained();  // and the coordinator knows

  // ---- For the threads that work ----
  // The next one to prepare or to run, or nullptr when stopped; TakePrepared also after `patience`.
  std::shared_ptr<LeasedWork> TakeQueued();
  std::shared_ptr<LeasedWork> TakePrepared(absl::Duration patience);
  void SetPhase(LeasedWork& work, std::string phase);
  void SetPrepared(LeasedWork& work, std::shared_ptr<Evaluator::Prepared> prepared);
  void Finish(LeasedWork& work, v1::Evaluation evaluation);
  void Return(LeasedWork& work, std::string reason);
  // While it is not empty no work is wanted, and what waits is returned.
  void SetUnhealthy(std::string why);
  bool healthy();
  // Take* return nullptr from now on.
  void Stop();
  bool stopped();

 private:
  std::shared_ptr<LeasedWork> FirstIn(LeasedWork::State state) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(LeasedWork& work, LeasedWork::State state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReturnWaiting(const std::string& reason, bool running_too) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(const std::string& lease_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountTime() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return news_; }
  bool IsStopped() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopped_; }
  bool IsDraining() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return draining_; }
  bool QueuedOrStopped() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool PreparedOrStopped() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t lease_count_max_;
  Clock* const clock_;

  absl::Mutex mutex_;
  std::vector<std::shared_ptr<LeasedWork>> leases_ ABSL_GUARDED_BY(mutex_);  // in the order they were given
  bool news_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::string unhealthy_ ABSL_GUARDED_BY(mutex_);
  // How the device has spent its time, up to counted_until_.
  absl::Duration busy_ ABSL_GUARDED_BY(mutex_), waiting_ ABSL_GUARDED_BY(mutex_);
  absl::Time counted_until_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fsr
