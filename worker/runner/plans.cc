#include "worker/runner/plans.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "fmt/format.h"

namespace fsr {

absl::StatusOr<LaunchPlan> PlanOfCandidate(const std::string& source, const v1::Task& task) {
  if (task.launch() != v1::Task::FIXED || source == task.baseline_source()) return ParseLaunchPlan(source, task);
  absl::StatusOr<LaunchPlan> baseline = ParseLaunchPlan(task.baseline_source(), task);
  if (!baseline.ok()) {
    return absl::FailedPreconditionError(
        fmt::format("The baseline of task {} has no good launch plan: {}", task.name(), MessageOf(baseline.status())));
  }
  return ParseLaunchPlan(source, task, &*baseline);
}

CompileRequest RequestOf(const LaunchPlan& plan, const std::string& source, std::string file_name,
                         std::string architecture, absl::Duration time_limit) {
  CompileRequest request;
  request.source = source;
  request.file_name = std::move(file_name);
  request.architecture = std::move(architecture);
  for (const Launch& launch : plan.launches) {
    if (std::count(request.kernels.begin(), request.kernels.end(), launch.kernel) == 0) {
      request.kernels.push_back(launch.kernel);
    }
  }
  request.options = CompileDefinitions(plan);
  request.time_limit = time_limit;
  return request;
}

}  // namespace fsr
