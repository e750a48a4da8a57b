// Hardware counters of one run of a launch plan, through CUPTI's Range Profiler: the whole plan is one range, run again
// for every pass until all counters are read.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/profile/cupti_library.h"

namespace fsr::cupti {

// More passes than any set of ours takes: a device that asks for more is not followed.
inline constexpr size_t kPassesMax = 64;

// Not safe for concurrent use. One CUPTI client per process: no activity may be recorded while Profile runs.
class RangeProfiler {
 public:
  // PERMISSION_DENIED where the driver keeps the counters for administrators, UNAVAILABLE where there is no CUPTI or
  // the device cannot be profiled; the message says what to change. REQUIRES: `context` is current.
  static absl::StatusOr<std::unique_ptr<RangeProfiler>> Create(int ordinal, CUcontext context);
  RangeProfiler(const RangeProfiler&) = delete;  // one per process
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  // What one pass does: `prepare` restores inputs and cache, `run` queues the plan and waits for it. Only what `run`
  // does is counted.
  struct Work {
    std::function<absl::Status()> prepare;
    std::function<absl::Status()> run;
  };
  // Values by metric name. Names that the chip does not know, and those without a finite value, are missing.
  struct Values {
    std::map<std::string, double> by_metric;
    size_t pass_count = 0;
  };
  // The counters are held only meanwhile: when it returns, nothing of the profiler slows down what follows.
  absl::StatusOr<Values> Profile(const std::vector<std::string>& metrics, const Work& work);

 private:
  RangeProfiler(const Library& library, CUcontext context) : library_(library), context_(context) {}

  const Library& library_;
  const CUcontext context_;
  std::string chip_;
  std::vector<uint8_t> availability_;
};

}  // namespace fsr::cupti
