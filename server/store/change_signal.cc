#include "server/store/change_signal.h"

namespace fsr {

uint64_t ChangeSignal::Version() {
  absl::MutexLock lock(&mutex_);
  return version_;
}

void ChangeSignal::Notify() {
  absl::MutexLock lock(&mutex_);
  ++version_;
}

bool ChangeSignal::AwaitChange(uint64_t seen, absl::Time deadline) {
  struct Wait {
    ChangeSignal* signal;
    uint64_t seen;
  } wait{this, seen};
  // Evaluated by absl::Condition, which holds the mutex.
  auto changed = +[](Wait* w) ABSL_NO_THREAD_SAFETY_ANALYSIS { return w->signal->version_ != w->seen; };
  absl::MutexLock lock(&mutex_);
  return clock_->AwaitWithDeadline(mutex_, absl::Condition(changed, &wait), deadline);
}

}  // namespace fsr
