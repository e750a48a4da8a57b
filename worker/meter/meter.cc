#include "worker/meter/meter.h"

#include "fmt/format.h"
#include "worker/meter/simulated_meter.h"

namespace fsr {

absl::StatusOr<MeterReport> Measure(Device& device, const v1::Task& task, const LoadableKernel& candidate,
                                    const LoadableKernel& oracle, const std::vector<MeterReference>& references,
                                    const JudgeOptions& options) {
  if (device.facts().simulated()) return MeasureSimulated(device, task, candidate, oracle, references, options);
  return absl::UnimplementedError(fmt::format(
      "this build judges kernels on {} but cannot time them; ask for judging only, or use a simulated device",
      device.facts().name()));
}

}  // namespace fsr
