// What trouble running jobs wait out: of this process alone, since a full disk keeps nothing.
#pragma once

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace fsr {

// Safe for concurrent use.
class JobNotes {
 public:
  // `job` is its full name; an empty note ends it.
  void Set(const std::string& job, const std::string& note) {
    absl::MutexLock lock(&mutex_);
    if (note.empty()) {
      notes_.erase(job);
    } else {
      notes_[job] = note;
    }
  }
  std::string Of(const std::string& job) const {
    absl::MutexLock lock(&mutex_);
    const auto found = notes_.find(job);
    return found == notes_.end() ? "" : found->second;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, std::string> notes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fsr
