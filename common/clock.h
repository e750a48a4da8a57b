// Time as a dependency: only this file's implementations read the system's clock or sleep.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace fsr {

// Safe for concurrent use.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() = 0;
  virtual void Sleep(absl::Duration duration) = 0;
  // Waits for `condition` on `mutex`, which the caller holds, until `deadline` by this clock. True if it holds.
  virtual bool AwaitWithDeadline(absl::Mutex& mutex, const absl::Condition& condition, absl::Time deadline) = 0;
};

// The process-wide system clock. Lives for ever.
Clock* SystemClock();

// A clock that moves only when told to.
class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'800'000'000)) : now_(start) {}
  absl::Time Now() override;
  void Sleep(absl::Duration duration) override { Advance(duration); }
  // Returns at once: whether `condition` holds now. Time does not pass by itself here.
  bool AwaitWithDeadline(absl::Mutex& mutex, const absl::Condition& condition, absl::Time deadline) override;
  void Advance(absl::Duration duration);

 private:
  absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fsr
