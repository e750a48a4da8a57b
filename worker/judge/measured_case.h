// Which case a device is measured on.
#pragma once

#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/task.pb.h"

namespace fsr {

// Task.measure_simulated on a simulator if there is one, else Task.measure. Lives as long as `task`.
const v1::Case& MeasuredCase(const v1::Task& task, const v1::DeviceFacts& device);

}  // namespace fsr
