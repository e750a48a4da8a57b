#include "common/clock.h"

#include "absl/time/clock.h"

namespace fsr {
namespace {

class RealClock final : public Clock {
 public:
  absl::Time Now() override { return absl::Now(); }
  void Sleep(absl::Duration duration) override { absl::SleepFor(duration); }
  bool AwaitWithDeadline(absl::Mutex& mutex, const absl::Condition& condition, absl::Time deadline) override {
    return mutex.AwaitWithDeadline(condition, deadline);
  }
};

}  // namespace

Clock* SystemClock() {
  static RealClock* const clock = new RealClock;  // never destroyed: threads may outlive main's statics
  return clock;
}

absl::Time FakeClock::Now() {
  absl::MutexLock lock(&mutex_);
  return now_;
}

bool FakeClock::AwaitWithDeadline(absl::Mutex&, const absl::Condition& condition, absl::Time) {
  return condition.Eval();
}

void FakeClock::Advance(absl::Duration duration) {
  absl::MutexLock lock(&mutex_);
  now_ += duration;
}

}  // namespace fsr
