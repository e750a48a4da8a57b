// "Something in the store has changed": what waiting calls and job loops wait for instead of polling.
#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"

namespace fsr {

// Safe for concurrent use.
class ChangeSignal {
 public:
  // REQUIRES: `clock` outlives this.
  explicit ChangeSignal(Clock* clock) : clock_(clock) {}
  // Grows with every change.
  uint64_t Version();
  void Notify();
  // Waits until the version is not `seen` any more, or `deadline`; true if it changed. Read the version *before*
  // reading the store, so that no change is missed.
  bool AwaitChange(uint64_t seen, absl::Time deadline);

 private:
  Clock* const clock_;
  absl::Mutex mutex_;
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace fsr
