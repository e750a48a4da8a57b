// Hands evaluations to workers and takes their results: the rules in worker.proto, with the clock injected. Knows no
// transport. Lost workers are found lazily, at the entry of a call, with one `now` for all of it.
//
// A lease that an earlier answer carried but the worker does not report had its answer lost on the way: it is sent
// again under the same id, so that a broken connection costs no attempt.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "fsr/v1/search.pb.h"
#include "fsr/v1/worker.pb.h"
#include "server/dispatch/worker_registry.h"
#include "server/store/store.h"

namespace fsr {

inline constexpr absl::Duration kLeaseLifetime = absl::Seconds(20);  // without contact
inline constexpr absl::Duration kBusyContactInterval = absl::Seconds(2);
inline constexpr absl::Duration kLongPollMax = absl::Seconds(30);
inline constexpr int kAttemptsMax = 7;  // lost ones of an evaluation; machines are taken away for other reasons, too
inline constexpr int kReturnsMax = 10;  // of an evaluation that workers give back
inline constexpr int kLeasesPerWorkerMax = 8;
inline constexpr int kReportsMax = 64;  // of one call
inline constexpr int kWorkersMax = 4096;
inline constexpr int kLongPollsMax = 512;  // each holds a thread; further idle workers are told to call again soon
inline constexpr int kWorkerIdLengthMax = 128;
// No further assignment goes into an answer that is larger: with the largest one it still fits into the 4 MiB that a
// gRPC client takes by default.
inline constexpr int kAssignmentsBytesMax = 1 << 19;

// Safe for concurrent use.
class Dispatcher {
 public:
  struct Options {
    absl::Duration lease_lifetime = kLeaseLifetime;
    absl::Duration long_poll_max = kLongPollMax;
    int attempts_max = kAttemptsMax;
    int returns_max = kReturnsMax;
    int workers_max = kWorkersMax;
    int long_polls_max = kLongPollsMax;
    std::function<std::string()> new_lease_id = nullptr;  // default: RandomHex(16)
  };
  // Leases that are open in the store stay so: their workers have a whole lease_lifetime from now to call.
  // REQUIRES: `store` and `clock` outlive it.
  static absl::StatusOr<std::unique_ptr<Dispatcher>> Create(Store* store, Clock* clock, Options options);

  // One call of a worker. Blocks only for an idle worker that wants work, at most long_poll_max, and until Stop.
  // `client_gone`, if given, says that nobody waits for the answer any more: nothing is then handed out.
  absl::StatusOr<v1::SynchronizeResponse> Synchronize(const v1::SynchronizeRequest& request,
                                                      const std::function<bool()>& client_gone = nullptr);

  absl::StatusOr<v1::ListWorkersResponse> ListWorkers();
  // Ends all long polls; later calls get UNAVAILABLE.
  void Stop();

 private:
  Dispatcher(Store* store, Clock* clock, Options options);
  struct Visit;  // what is known during one call
  absl::Status ReleaseLost(absl::Time now);
  absl::Status TakeReports(Visit& visit);
  absl::Status TakeReport(const v1::LeaseReport& report, Visit& visit);
  absl::Status SendAgain(Visit& visit);
  absl::Status HandOut(Visit& visit);
  absl::Status WaitForWork(Visit& visit, absl::Time now);
  absl::Status CheckRunning() const;

  Store* const store_;
  Clock* const clock_;
  const Options options_;
  WorkerRegistry registry_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> long_polls_ = 0;
};

}  // namespace fsr
