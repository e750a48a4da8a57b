// A clean L2 cache: full of lines that need no writing back, so that the bytes counted during a run are the run's own.
// A cache that was overwritten instead (as before a timed run) writes its dirty lines to memory meanwhile.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "worker/device/cuda/cuda_device.h"

namespace fsr {

// Not safe for concurrent use. REQUIRES: `device` outlives it.
class CacheSweeper {
 public:
  // RESOURCE_EXHAUSTED if the device lacks memory of twice its L2 cache's size.
  static absl::StatusOr<std::unique_ptr<CacheSweeper>> Create(cuda::CudaDevice& device);
  ~CacheSweeper();
  CacheSweeper(const CacheSweeper&) = delete;  // owns memory and a module
  CacheSweeper& operator=(const CacheSweeper&) = delete;

  // Queues the sweep on the device's stream.
  absl::Status Sweep();

 private:
  explicit CacheSweeper(cuda::CudaDevice& device) : device_(device) {}

  cuda::CudaDevice& device_;
  CUmodule module_ = nullptr;
  CUfunction sweep_ = nullptr;
  CUdeviceptr memory_ = 0;
  size_t bytes_ = 0;
};

}  // namespace fsr
