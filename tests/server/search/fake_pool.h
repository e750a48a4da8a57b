// A pool of one worker that judges by what is written in the source, against an in-process store.
#pragma once

#include <atomic>
#include <map>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "server/store/store.h"

namespace fsr::testing {

// Time that runs `factor` times as fast as the system's.
class FastClock : public Clock {
 public:
  explicit FastClock(double factor) : factor_(factor), start_(SystemClock()->Now()) {}
  absl::Time Now() override { return start_ + (SystemClock()->Now() - start_) * factor_; }
  void Sleep(absl::Duration duration) override { SystemClock()->Sleep(duration / factor_); }
  bool AwaitWithDeadline(absl::Mutex& mutex, const absl::Condition& condition, absl::Time deadline) override {
    if (deadline == absl::InfiniteFuture()) return SystemClock()->AwaitWithDeadline(mutex, condition, deadline);
    return SystemClock()->AwaitWithDeadline(mutex, condition, SystemClock()->Now() + (deadline - Now()) / factor_);
  }

 private:
  const double factor_;
  const absl::Time start_;
};

// Evaluates what waits in the store, in a thread of its own. A source with "outcome NAME" gets this outcome, one with
// "latency N" takes N us, any other 100 us, all of them estimates.
class FakePool {
 public:
  explicit FakePool(Store* store) : store_(store), thread_([this] { Run(); }) {}
  ~FakePool() {
    stopping_ = true;
    store_->changes().Notify();
    thread_.join();
  }

  // How often each source was evaluated.
  std::map<std::string, int> counts() {
    absl::MutexLock lock(&mutex_);
    return counts_;
  }
  std::vector<v1::EvaluationSpec> specs() {
    absl::MutexLock lock(&mutex_);
    return specs_;
  }
  // Results are measured, as on a GPU, instead of estimated.
  void set_measuring() { measuring_ = true; }
  void set_paused(bool paused) {
    paused_ = paused;
    store_->changes().Notify();
  }

 private:
  void Run();

  Store* const store_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> paused_{false};
  std::atomic<bool> measuring_{false};
  absl::Mutex mutex_;
  std::map<std::string, int> counts_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::EvaluationSpec> specs_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace fsr::testing
