// The buffers that a task's parameters need in one case, without regard to any kernel.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/launch_plan.h"
#include "fsr/v1/task.pb.h"

namespace fsr {

bool IsBuffer(const v1::Parameter& parameter);

// In the order of the parameters. INVALID_ARGUMENT names the parameter whose shape cannot be evaluated.
absl::StatusOr<std::vector<ResolvedBuffer>> TaskBuffers(const v1::Task& task, const v1::Case& which);

// "output f32[33, 65]", for messages.
std::string DescribeBuffer(const ResolvedBuffer& buffer);

}  // namespace fsr
