// task lint: the files, then on a device: the baseline must be right, and nothing trivial may pass.
#include <fmt/format.h>

#include "client/canaries.h"
#include "client/commands.h"
#include "client/render.h"
#include "common/status_macros.h"
#include "common/task_loader.h"

namespace fsr {
namespace {

struct Finding {
  std::string what;
  bool ok = false;
  std::string detail;
};

absl::StatusOr<v1::Evaluation> Evaluate(SearchClient& client, const v1::Task& task, const std::string& source,
                                        const std::string& device_kind) {
  v1::EvaluateRequest request;
  *request.mutable_task() = task;
  request.set_source(source);
  request.set_device_kind(device_kind);
  return client.Evaluate(request);
}

absl::StatusOr<std::vector<Finding>> Lint(Session& session, const v1::Task& task, const std::string& device) {
  ASSIGN_OR_RETURN(std::string kind, session.DeviceKind(device));
  ASSIGN_OR_RETURN(SearchClient * client, session.Client());
  std::vector<Finding> findings;
  ASSIGN_OR_RETURN(v1::Evaluation baseline, Evaluate(*client, task, task.baseline_source(), kind));
  findings.push_back({"the baseline is right", baseline.outcome() == v1::MEASURED, RenderEvaluation(baseline)});
  if (!task.tunable_source().empty()) {
    ASSIGN_OR_RETURN(v1::Evaluation tunable, Evaluate(*client, task, task.tunable_source(), kind));
    findings.push_back({"the tunable kernel is right with its defaults", tunable.outcome() == v1::MEASURED,
                        RenderEvaluation(tunable)});
  }
  if (task.launch() == v1::Task::FIXED) return findings;  // a canary needs a launch of its own
  for (const Canary& canary : CanariesOf(task)) {
    ASSIGN_OR_RETURN(v1::Evaluation evaluation, Evaluate(*client, task, canary.source, kind));
    findings.push_back(
        {fmt::format("a kernel that writes the {} is found wrong", canary.name), evaluation.outcome() == v1::MISMATCH,
         evaluation.outcome() == v1::MEASURED
             ? "It passes: tighten the tolerance, or choose data with which the right output varies more."
             : RenderEvaluation(evaluation)});
  }
  return findings;
}

}  // namespace

int TaskLintCommand(Session& session, const std::string& name, const std::string& device) {
  auto folder = FindTaskFolder(name);
  if (!folder.ok()) return ReportTrouble(folder.status());
  auto task = LoadTask(*folder);
  if (!task.ok()) return ReportTrouble(task.status());
  auto findings = Lint(session, *task, device);
  if (!findings.ok()) return ReportTrouble(findings.status());
  bool all_ok = true;
  for (const Finding& finding : *findings) {
    all_ok = all_ok && finding.ok;
    // The reply that is printed as JSON is the task alone.
    if (session.json() && finding.ok) continue;
    fmt::print(session.json() ? stderr : stdout, "{} {}\n{}", finding.ok ? "ok   " : "WRONG", finding.what,
               finding.ok ? "" : finding.detail + "\n");
  }
  if (session.json()) PrintJson(*task);
  return all_ok ? kExitOk : kExitNegative;
}

}  // namespace fsr
