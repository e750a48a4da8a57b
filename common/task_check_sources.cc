#include <optional>

#include "common/launch_plan.h"
#include "common/quote.h"
#include "common/task_check_parts.h"
#include "fmt/format.h"

namespace fsr {
namespace {

// The plan of one source, or complaints. One case that cannot be resolved is enough to say.
std::optional<LaunchPlan> CheckSource(const v1::Task& task, const std::string& source, const std::string& file,
                                      const LaunchPlan* fixed, Complaints* complaints) {
  if (!IsUtf8(source)) {
    complaints->Add(fmt::format("{}: it is not valid UTF-8", file));
    return std::nullopt;
  }
  absl::StatusOr<LaunchPlan> plan = ParseLaunchPlan(source, task, fixed);
  if (!plan.ok()) {
    complaints->AddWithContext(file, plan.status());
    return std::nullopt;
  }
  bool resolved_all = true;
  ForEachCase(task, [&](const v1::Case& which, const std::string& where) {
    if (!resolved_all) return;
    const absl::Status status = Resolve(*plan, task, which).status();
    complaints->AddWithContext(fmt::format("{}: for {}", file, where), status);
    resolved_all = status.ok();
  });
  return *std::move(plan);
}

}  // namespace

void CheckSources(const v1::Task& task, Complaints* complaints) {
  if (task.oracle_source().empty()) {
    complaints->Add("oracle.cu: the trusted reference is missing");
  } else {
    CheckSource(task, task.oracle_source(), "oracle.cu", nullptr, complaints);
  }
  if (task.baseline_source().empty()) return complaints->Add("baseline.cu: the kernel to beat is missing");
  const std::optional<LaunchPlan> baseline =
      CheckSource(task, task.baseline_source(), "baseline.cu", nullptr, complaints);
  if (task.tunable_source().empty() || !baseline) return;
  const LaunchPlan* fixed = task.launch() == v1::Task::FIXED ? &*baseline : nullptr;
  const std::optional<LaunchPlan> tunable = CheckSource(task, task.tunable_source(), "tunable.cu", fixed, complaints);
  if (tunable && tunable->tunables.empty()) {
    complaints->Add("tunable.cu: it has no \"// fsr: tune NAME = ...\" line, so there is nothing to tune");
  }
}

}  // namespace fsr
