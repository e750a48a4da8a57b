#include "worker/meter/meter.h"

#include "worker/device/cuda/cuda_device.h"
#include "worker/meter/cuda_meter.h"
#include "worker/meter/simulated_meter.h"

namespace fsr {

absl::StatusOr<MeterReport> Measure(Device& device, const v1::Task& task, const LoadableKernel& candidate,
                                    const LoadableKernel& oracle, const std::vector<MeterReference>& references,
                                    const JudgeOptions& options, const PhaseCallback& on_phase) {
  if (device.facts().simulated()) return MeasureSimulated(device, task, candidate, oracle, references, options);
  if (auto* gpu = dynamic_cast<cuda::CudaDevice*>(&device)) {
    return MeasureCuda(*gpu, task, candidate, oracle, references, options, on_phase);
  }
  return absl::UnimplementedError("there is no meter for the device " + device.facts().name());
}

}  // namespace fsr
