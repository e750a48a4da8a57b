// Hands evaluations to workers and takes their results: the rules in worker.proto, with the clock injected. Knows no
// transport. Lost workers are found lazily, at the entry of a call.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "fsr/v1/search.pb.h"
#include "fsr/v1/worker.pb.h"
#include "server/store/store.h"

namespace fsr {

inline constexpr absl::Duration kLeaseLifetime = absl::Seconds(20);  // without contact
inline constexpr absl::Duration kBusyContactInterval = absl::Seconds(2);
inline constexpr absl::Duration kLongPollMax = absl::Seconds(30);
inline constexpr int kAttemptsMax = 3;
inline constexpr int kLeasesPerWorkerMax = 8;
inline constexpr int kWorkersMax = 4096;

// Safe for concurrent use.
class Dispatcher {
 public:
  struct Options {
    absl::Duration lease_lifetime = kLeaseLifetime;
    absl::Duration long_poll_max = kLongPollMax;
    int attempts_max = kAttemptsMax;
    std::function<std::string()> new_lease_id;  // default: RandomHex(16)
  };
  // REQUIRES: `store` and `clock` outlive it.
  Dispatcher(Store* store, Clock* clock, Options options);

  // One call of a worker. Blocks only for an idle worker that wants work, at most long_poll_max, and until Stop.
  absl::StatusOr<v1::SynchronizeResponse> Synchronize(const v1::SynchronizeRequest& request);

  v1::ListWorkersResponse ListWorkers();
  // Ends all long polls; later calls get UNAVAILABLE.
  void Stop();

 private:
  struct WorkerState;
  Store* const store_;
  Clock* const clock_;
  const Options options_;
  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<WorkerState>> workers_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fsr
