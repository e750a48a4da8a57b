// What this very GPU does at best: the rates that floors are computed from. Measured once per device.
#include <fmt/format.h>

#include "common/status_macros.h"
#include "worker/meter/cuda_meter.h"
#include "worker/meter/cuda_sampler.h"

namespace fsr {
namespace {

constexpr size_t kCopyBytes = size_t{1} << 30;
constexpr int kCopySamples = 15;
constexpr int kStormSamples = 5;
constexpr uint32_t kStormRounds = 2000;
constexpr uint32_t kStormBlocksPerSm = 8;  // of 256 threads: every thread slot of an SM
constexpr absl::Duration kLimit = absl::Seconds(10);

// Seconds between two events round what `queue` queues: the median of several.
absl::StatusOr<double> MedianMicroseconds(cuda::CudaDevice& device, int count,
                                          const std::function<absl::Status()>& queue) {
  const cuda::Driver& driver = device.driver();
  CUevent start = nullptr, stop = nullptr;
  RETURN_IF_ERROR(cuda::ToStatus(driver, driver.EventCreate(&start, CU_EVENT_DEFAULT), "making an event"));
  RETURN_IF_ERROR(cuda::ToStatus(driver, driver.EventCreate(&stop, CU_EVENT_DEFAULT), "making an event"));
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    driver.EventRecord(start, device.stream());
    RETURN_IF_ERROR(queue());
    driver.EventRecord(stop, device.stream());
    if (device.Await(kLimit)) return absl::UnavailableError("The GPU does not run the meter's own kernels.");
    float milliseconds = 0;
    RETURN_IF_ERROR(cuda::ToStatus(driver, driver.EventElapsedTime(&milliseconds, start, stop), "reading events"));
    samples.push_back(1e3 * static_cast<double>(milliseconds));
  }
  driver.EventDestroy(start);
  driver.EventDestroy(stop);
  return Quantile(samples, 0.5);
}

}  // namespace

absl::Status ProbeDevice(cuda::CudaDevice& device, v1::DeviceFacts& facts) {
  const cuda::Driver& driver = device.driver();
  ASSIGN_OR_RETURN(auto sampler, CudaSampler::Create(device));
  {
    ASSIGN_OR_RETURN(auto from, device.Allocate("copy source", kCopyBytes));
    ASSIGN_OR_RETURN(auto to, device.Allocate("copy target", kCopyBytes));
    ASSIGN_OR_RETURN(const double us, MedianMicroseconds(device, kCopySamples, [&] {
                       return cuda::ToStatus(
                           driver, driver.MemcpyDtoDAsync(to->address(), from->address(), kCopyBytes, device.stream()),
                           "copying");
                     }));
    facts.set_measured_copy_gb_per_s(2.0 * static_cast<double>(kCopyBytes) / us / 1e3);
  }
  const uint32_t blocks = facts.sm_count() * kStormBlocksPerSm;
  ASSIGN_OR_RETURN(const double storm_us, MedianMicroseconds(device, kStormSamples, [&] {
                     return sampler->helpers().FmaStorm(blocks, kStormRounds);
                   }));
  facts.set_measured_f32_tflops(cuda::HelperKernels::FmaStormFlops(blocks, kStormRounds) / storm_us / 1e6);
  ASSIGN_OR_RETURN(const double pair_us, sampler->EmptyPairMicroseconds(25));
  ASSIGN_OR_RETURN(const double kernel_us, sampler->EmptyKernelMicroseconds(25));
  facts.set_launch_overhead_us(kernel_us - pair_us);
  return absl::OkStatus();
}

}  // namespace fsr
