// The launch plan that a kernel file of a task is run with.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/launch_plan.h"
#include "fsr/v1/task.pb.h"
#include "worker/compile/compiler.h"

namespace fsr {

// Of a candidate, the baseline or an incumbent: where the task fixes the launch, the baseline's is used for all.
// INVALID_ARGUMENT is the kernel's fault; FAILED_PRECONDITION the task's: its baseline has no good plan.
absl::StatusOr<LaunchPlan> PlanOfCandidate(const std::string& source, const v1::Task& task);

// What must be compiled for `plan`.
CompileRequest RequestOf(const LaunchPlan& plan, const std::string& source, std::string file_name,
                         std::string architecture, absl::Duration time_limit);

}  // namespace fsr
