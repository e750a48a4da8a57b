// Calls that wait for the store: how many there may be, and how they learn that the server stops.
#pragma once

#include <fmt/format.h>

#include <atomic>

#include "absl/status/status.h"
#include "server/api/limits.h"
#include "server/store/change_signal.h"

namespace fsr {

// Safe for concurrent use.
class Waiting {
 public:
  // REQUIRES: `changes` outlives it.
  Waiting(ChangeSignal* changes, int calls_max) : changes_(*changes), calls_max_(calls_max) {}

  // A call's place among those that wait, for as long as it lives.
  class Place {
   public:
    explicit Place(Waiting* waiting) : waiting_(*waiting), granted_(++waiting_.calls_ <= waiting_.calls_max_) {}
    ~Place() { --waiting_.calls_; }
    Place(const Place&) = delete;  // counted
    Place& operator=(const Place&) = delete;
    // RESOURCE_EXHAUSTED if there was none; UNAVAILABLE once the server stops.
    absl::Status Check() const {
      if (waiting_.stopped_) return absl::UnavailableError("the server is stopping: call again later");
      if (granted_) return absl::OkStatus();
      return absl::ResourceExhaustedError(
          fmt::format("{} calls wait already, which is the most this server takes: end some, or call again later",
                      waiting_.calls_max_));
    }

   private:
    Waiting& waiting_;
    const bool granted_;
  };

  void Stop() {
    stopped_ = true;
    changes_.Notify();
  }

 private:
  ChangeSignal& changes_;
  const int calls_max_;
  std::atomic<int> calls_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace fsr
