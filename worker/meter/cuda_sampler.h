// One cold or hot sample of a launch plan on a GPU: events round it, queued behind a blocking kernel, so that nothing
// of the host lies between them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/device/cuda/cache_sweeper.h"
#include "worker/device/cuda/cuda_device.h"
#include "worker/device/cuda/helper_kernels.h"

namespace fsr {

// Below this share of the highest SM clock a sample is dropped: the GPU is throttled, or has not woken up yet.
inline constexpr double kThrottleShare = 0.75;

// Not safe for concurrent use. REQUIRES: `device` outlives it.
class CudaSampler {
 public:
  static absl::StatusOr<std::unique_ptr<CudaSampler>> Create(cuda::CudaDevice& device);
  ~CudaSampler();
  CudaSampler(const CudaSampler&) = delete;  // owns events and memory
  CudaSampler& operator=(const CudaSampler&) = delete;

  struct Batch {
    std::vector<double> microseconds;  // by plan, in the order of `plans`; empty if the batch was dropped
    bool throttled = false;            // why it was dropped
    std::optional<LaunchReport::Failure> failure;
  };
  // One cold sample of each plan, in the order `order` (a permutation of the indices). Before each, `before(index)`
  // queues what the sample needs (fresh data, poison), then the L2 cache is swept.
  absl::StatusOr<Batch> Cold(std::span<cuda::PreparedPlan* const> plans, std::span<const size_t> order,
                             const std::function<absl::Status(size_t)>& before, absl::Duration time_limit);

  // Medians of `count` samples. Hot: run after run, on what the last one left in the caches.
  absl::StatusOr<Batch> Hot(cuda::PreparedPlan& plan, int count, absl::Duration time_limit);
  // What two events with nothing in between measure, and what an empty kernel between them adds.
  absl::StatusOr<double> EmptyPairMicroseconds(int count);
  absl::StatusOr<double> EmptyKernelMicroseconds(int count);

  cuda::HelperKernels& helpers() { return *helpers_; }
  // Queues what leaves none of the task's data in the L2 cache, and nothing that has to be written back.
  absl::Status FlushL2() { return sweeper_->Sweep(); }
  // Runs the SMs for a while, so that their clock is up.
  absl::Status WakeUp();

 private:
  explicit CudaSampler(cuda::CudaDevice& device) : device_(device) {}
  absl::Status NeedEvents(size_t count);
  absl::StatusOr<double> Elapsed(size_t pair);
  absl::StatusOr<std::vector<double>> Empty(int count, bool kernel);

  cuda::CudaDevice& device_;
  std::unique_ptr<cuda::HelperKernels> helpers_;
  std::unique_ptr<cuda::CacheSweeper> sweeper_;
  std::vector<CUevent> events_;
};

}  // namespace fsr
