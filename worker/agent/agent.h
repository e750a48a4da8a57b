// A worker's agent: fetches evaluations from the coordinator, has them prepared ahead and run one at a time, and
// reports. It knows no transport and no device.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/agent/coordinator_link.h"
#include "worker/agent/lease_board.h"
#include "worker/runner/evaluate.h"

namespace fsr {

// Between calls, whatever the coordinator says.
inline constexpr absl::Duration kContactIntervalMin = absl::Milliseconds(20);
inline constexpr absl::Duration kContactIntervalMax = absl::Minutes(1);
// After a failed call: doubled each time, with up to half of it taken off at random.
inline constexpr absl::Duration kRetryDelayFirst = absl::Milliseconds(200);
inline constexpr absl::Duration kRetryDelayMax = absl::Seconds(15);
// How often an unhealthy worker looks whether it is well again.
inline constexpr absl::Duration kHealthCheckInterval = absl::Seconds(20);
// How long a stopping worker tries to give its leases back; they expire anyway.
inline constexpr absl::Duration kDrainMax = absl::Seconds(10);

// Life: Run, until Drain is called from another thread.
class Agent {
 public:
  struct Options {
    std::string worker_id;
    std::string boot_id;
    size_t lease_count_max = 3;  // one measured, the others compiled ahead
    uint64_t jitter_seed = 0;
  };
  // All must outlive it.
  Agent(Options options, Evaluator* evaluator, CoordinatorLink* link, Clock* clock);

  // Until drained. An error if the coordinator refuses the very first call (a wrong address or a worker it does not
  // take); later errors are retried for ever.
  absl::Status Run();

  // Gives back what is not finished and ends Run. Safe to call from any thread, more than once.
  void Drain();

 private:
  v1::SynchronizeRequest MakeRequest();
  absl::Status TalkUntilDrained();
  void PrepareLoop();
  void RunLoop();
  void RunOne(LeasedWork& work);
  void CheckHealth();
  // What an error of ours means for the lease, and for the worker.
  void FinishAsTaskFault(LeasedWork& work, const std::string& sentence);
  void GiveBack(LeasedWork& work, const absl::Status& status);

  const Options options_;
  Evaluator* const evaluator_;
  CoordinatorLink* const link_;
  Clock* const clock_;
  LeaseBoard board_;
  std::atomic<bool> draining_ = false;
  std::atomic<uint64_t> evaluation_count_ = 0, compile_count_ = 0, compile_cache_hit_count_ = 0;
};

}  // namespace fsr
