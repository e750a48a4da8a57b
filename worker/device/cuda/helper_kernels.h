// Small kernels of our own that the meter queues round a candidate's launches.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "worker/device/cuda/driver.h"

namespace fsr::cuda {

// Not safe for concurrent use. REQUIRES: the context is current, and outlives it.
class HelperKernels {
 public:
  static absl::StatusOr<std::unique_ptr<HelperKernels>> Load(const Driver& driver, CUstream stream);
  ~HelperKernels();
  HelperKernels(const HelperKernels&) = delete;  // owns the module
  HelperKernels& operator=(const HelperKernels&) = delete;

  // Holds the stream until Release, or until `limit_ns` have passed: everything queued behind it then starts without
  // the host in between. A host that is too slow makes Release return false: what was timed is worth nothing.
  absl::Status Block(uint64_t limit_ns);
  void Release();
  // After the stream was waited for: false if the block ended by its limit.
  bool ReleasedInTime() const;

  // Measures the SM clock over `spin_ns`; read the result with ClockMhz once the stream was waited for.
  absl::Status MeasureClock(uint64_t spin_ns);
  double ClockMhz() const;

  // Copies 64 elements at random places of a buffer over others: every value stays a value of the buffer, and the
  // data are new. `element_bytes` is 1, 2, 4 or 8.
  absl::Status Perturb(CUdeviceptr buffer, uint64_t element_count, uint32_t element_bytes, uint64_t seed);

  // The same on memory of its own, so that its code is loaded.
  absl::Status PerturbOwn() { return Perturb(shared_address_, 1, 1, 0); }

  // Does nothing: what it takes is what a launch costs.
  absl::Status Empty();

  // Every SM busy with dependent chains of f32 fma for `rounds` rounds; FlopsOf says how many operations that is.
  absl::Status FmaStorm(uint32_t blocks, uint32_t rounds);
  static double FmaStormFlops(uint32_t blocks, uint32_t rounds);

 private:
  HelperKernels(const Driver& driver, CUstream stream) : driver_(driver), stream_(stream) {}
  absl::Status Launch(CUfunction function, uint32_t blocks, uint32_t threads, void** arguments);

  const Driver& driver_;
  const CUstream stream_;
  CUmodule module_ = nullptr;
  CUfunction block_ = nullptr, clock_ = nullptr, perturb_ = nullptr, empty_ = nullptr, storm_ = nullptr;
  // In host memory that the GPU sees: flag, expired, clock's nanoseconds, clock's cycles.
  volatile uint64_t* shared_ = nullptr;
  CUdeviceptr shared_address_ = 0;
};

}  // namespace fsr::cuda
