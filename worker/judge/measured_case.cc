#include "worker/judge/measured_case.h"

namespace fsr {

const v1::Case& MeasuredCase(const v1::Task& task, const v1::DeviceFacts& device) {
  return device.simulated() && task.has_measure_simulated() ? task.measure_simulated() : task.measure();
}

}  // namespace fsr
