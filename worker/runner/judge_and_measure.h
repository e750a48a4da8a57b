// What a device child does with one request: judge, check the task's rules, measure, and say what came of it.
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "fsr/v1/runner.pb.h"
#include "worker/device/device.h"

namespace fsr {

// INTERNAL: the oracle or a reference fails, which is the task's fault. Other errors are the device's.
absl::StatusOr<v1::Evaluation> JudgeAndMeasure(Device& device, const v1::RunRequest& request,
                                               const std::function<void(std::string_view)>& on_phase);

}  // namespace fsr
