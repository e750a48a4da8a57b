#include "worker/runner/judge_and_measure.h"

#include <utility>
#include <vector>

#include "common/hash.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "common/task_loader.h"
#include "fmt/format.h"
#include "worker/compile/module_conversion.h"
#include "worker/judge/judge.h"
#include "worker/meter/meter.h"
#include "worker/runner/diagnosis.h"
#include "worker/runner/instruction_rules.h"
#include "worker/runner/plans.h"

namespace fsr {
namespace {

// The parent has parsed the same lines before, so an error here is none of the kernel's.
absl::StatusOr<LoadableKernel> Loadable(const v1::RunKernel& kernel, absl::StatusOr<LaunchPlan> plan) {
  if (!plan.ok()) return absl::InternalError(MessageOf(plan.status()));
  return LoadableKernel{.plan = *std::move(plan), .compiled = FromProto(kernel.module())};
}

void CheckInstructions(const v1::Task& task, const Device& device, const Judgement& judgement,
                       const CompiledKernel& compiled, v1::Evaluation* evaluation) {
  const std::map<std::string, uint64_t> counts = device.facts().simulated()
                                                     ? CountAskedFor(task, judgement.executed_instructions)
                                                     : CountInPtx(task, compiled.ptx);
  // A GPU counts only while it measures: what stands in the code says whether, not how often.
  if (device.facts().simulated()) evaluation->mutable_executed_instructions()->insert(counts.begin(), counts.end());
  if (evaluation->outcome() != v1::MEASURED) return;
  if (std::optional<BrokenRule> broken = FindBrokenRule(task, counts)) {
    DescribeRefusal(v1::REJECTED, broken->prefix, broken->sentence, evaluation);
  }
}

// A required instruction that stands in the code but was never executed where it was measured. Counters may be wider
// than a prefix, so they convict of nothing that is forbidden: that must not stand in the code at all.
void CheckMeasuredInstructions(const v1::Task& task, const CompiledKernel& compiled,
                               const std::map<std::string, uint64_t>& executed, v1::Evaluation* evaluation) {
  evaluation->mutable_executed_instructions()->insert(executed.begin(), executed.end());
  if (executed.empty() || evaluation->outcome() != v1::MEASURED) return;
  std::map<std::string, uint64_t> counts = CountInPtx(task, compiled.ptx);
  for (const auto& [prefix, count] : executed) counts[prefix] = count;
  if (std::optional<BrokenRule> broken = FindBrokenRule(task, counts)) {
    evaluation->clear_measurement();
    evaluation->clear_comparisons();
    DescribeRefusal(v1::REJECTED, broken->prefix, broken->sentence, evaluation);
  }
}

void AddMeterReport(const v1::Task& task, const v1::DeviceFacts& facts, MeterReport report,
                    v1::Evaluation* evaluation) {
  evaluation->mutable_comparisons()->Add(report.comparisons.begin(), report.comparisons.end());
  evaluation->mutable_counters()->Add(report.counters.begin(), report.counters.end());
  evaluation->mutable_hints()->Add(report.hints.begin(), report.hints.end());
  if (!report.resources.empty()) {
    evaluation->clear_resources();
    evaluation->mutable_resources()->Add(report.resources.begin(), report.resources.end());
  }
  const v1::Case& measured = MeasuredCase(task, facts);
  v1::CaseResult& result = *evaluation->add_cases();
  result.set_name(NameOf(measured));
  *result.mutable_sizes() = measured.sizes();
  result.set_held_out(measured.held_out());
  result.set_outcome(v1::MEASURED);
  if (report.failure) {
    result.set_outcome(report.failure->outcome);
    *result.mutable_fault() = std::move(report.failure->fault);
    evaluation->set_outcome(report.failure->outcome);
  } else if (report.measurement) {
    *evaluation->mutable_measurement() = *std::move(report.measurement);
  }
}

}  // namespace

absl::StatusOr<v1::Evaluation> JudgeAndMeasure(Device& device, const v1::RunRequest& request,
                                               const std::function<void(std::string_view)>& on_phase) {
  const v1::Task& task = request.task();
  ASSIGN_OR_RETURN(const LoadableKernel candidate,
                   Loadable(request.candidate(), PlanOfCandidate(request.candidate().source(), task)));
  ASSIGN_OR_RETURN(const LoadableKernel oracle,
                   Loadable(request.oracle(), ParseLaunchPlan(request.oracle().source(), task)));
  std::vector<MeterReference> references;
  for (const v1::RunReference& reference : request.references()) {
    ASSIGN_OR_RETURN(LoadableKernel kernel,
                     Loadable(reference.kernel(), PlanOfCandidate(reference.kernel().source(), task)));
    references.push_back({.against = reference.against(), .kernel = std::move(kernel)});
  }

  JudgeOptions options;
  options.seed = request.seed();
  options.run_limit = absl::Seconds(request.run_seconds());
  options.judge_measured_case = request.judge_only();
  on_phase("judge");
  ASSIGN_OR_RETURN(Judgement judgement, Judge(device, task, candidate, oracle, options));
  v1::Evaluation evaluation;
  evaluation.set_outcome(judgement.outcome);
  evaluation.mutable_cases()->Add(judgement.cases.begin(), judgement.cases.end());
  evaluation.mutable_resources()->Add(candidate.compiled.resources.begin(), candidate.compiled.resources.end());
  CheckInstructions(task, device, judgement, candidate.compiled, &evaluation);
  if (evaluation.outcome() == v1::MEASURED && !request.judge_only()) {
    on_phase("measure");
    ASSIGN_OR_RETURN(MeterReport report, Measure(device, task, candidate, oracle, references, options, on_phase));
    const std::map<std::string, uint64_t> executed = std::move(report.executed_instructions);
    AddMeterReport(task, device.facts(), std::move(report), &evaluation);
    CheckMeasuredInstructions(task, candidate.compiled, executed, &evaluation);
  }
  if (evaluation.diagnosis().empty()) Describe(task, &evaluation);
  return evaluation;
}

}  // namespace fsr
