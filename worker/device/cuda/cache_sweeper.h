// A cold and clean L2 cache: full of lines that are nobody's data and need no writing back. A cache that was
// overwritten instead would write its dirty lines to memory during the run: time and bytes that are not the run's own.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "worker/device/cuda/cuda_device.h"

namespace fsr::cuda {

// Not safe for concurrent use. REQUIRES: `device` outlives it.
class CacheSweeper {
 public:
  // RESOURCE_EXHAUSTED if the device lacks memory of twice its L2 cache's size.
  static absl::StatusOr<std::unique_ptr<CacheSweeper>> Create(CudaDevice& device);
  ~CacheSweeper();
  CacheSweeper(const CacheSweeper&) = delete;  // owns memory and a module
  CacheSweeper& operator=(const CacheSweeper&) = delete;

  // Queues the sweep on the device's stream.
  absl::Status Sweep();

 private:
  explicit CacheSweeper(CudaDevice& device) : device_(device) {}

  CudaDevice& device_;
  CUmodule module_ = nullptr;
  CUfunction sweep_ = nullptr;
  CUdeviceptr memory_ = 0;
  size_t bytes_ = 0;
};

}  // namespace fsr::cuda
