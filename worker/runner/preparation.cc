#include "worker/runner/preparation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/clock.h"
#include "common/hash.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"
#include "worker/compile/module_conversion.h"
#include "worker/runner/diagnosis.h"
#include "worker/runner/plans.h"

namespace fsr {
namespace {

// A limit of 0, below it, or none at all is the default.
double LimitSeconds(double asked, double standard) { return asked > 0 ? std::min(asked, kLimitSecondsMax) : standard; }

// Compiles of one evaluation, all under the same limit and for the same device.
class Preparation {
 public:
  Preparation(const v1::EvaluationSpec& spec, const std::string& architecture, Compiler& compiler)
      : spec_(spec),
        architecture_(architecture),
        compiler_(compiler),
        compile_limit_(absl::Seconds(LimitSeconds(spec.limits().compile_seconds(), kCompileSecondsDefault))) {}

  // Sets evaluation.outcome() if the candidate is already at its end.
  absl::Status PrepareCandidate(v1::Evaluation* evaluation, v1::RunKernel* kernel) {
    evaluation->set_source_hash(Sha256Hex(spec_.source()));
    if (spec_.source().size() > static_cast<size_t>(kSourceBytesMax)) {
      DescribeRefusal(
          v1::COMPILE_ERROR, "too_large",
          fmt::format("The file has {} bytes; at most {} are compiled.", spec_.source().size(), kSourceBytesMax),
          evaluation);
      return absl::OkStatus();
    }
    absl::StatusOr<LaunchPlan> plan = PlanOfCandidate(spec_.source(), spec_.task());
    if (absl::IsInvalidArgument(plan.status())) {
      DescribeRefusal(v1::LAUNCH_ERROR, "launch_lines", MessageOf(plan.status()), evaluation);
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(plan.status());
    ASSIGN_OR_RETURN(CompileResult result, compiler_.Compile(RequestOf(*plan, spec_.source(), "candidate.cu",
                                                                       architecture_, compile_limit_)));
    if (!result.launch_error.empty()) {
      DescribeRefusal(v1::LAUNCH_ERROR, "unknown_kernel", result.launch_error, evaluation);
    } else if (!result.ok) {
      DescribeCompileError(result.log, result.timed_out, evaluation);
    } else {
      evaluation->set_compile_log(result.log);
      evaluation->set_compile_cache_hit(result.kernel.cache_hit);
      evaluation->set_binary_hash(Sha256Hex(result.kernel.cubin.empty() ? result.kernel.ptx : result.kernel.cubin));
      SetKernel(spec_.source(), result, kernel);
    }
    return absl::OkStatus();
  }

  // A kernel that came with the task: what is wrong with it is the task's fault.
  absl::Status PrepareTrusted(std::string_view what, const std::string& source, absl::StatusOr<LaunchPlan> plan,
                              v1::RunKernel* kernel) {
    auto at_fault = [&](std::string_view why) {
      return absl::FailedPreconditionError(fmt::format("The {} of task {} {}", what, spec_.task().name(), why));
    };
    if (!plan.ok()) return at_fault(fmt::format("has no good launch lines: {}", MessageOf(plan.status())));
    ASSIGN_OR_RETURN(CompileResult result, compiler_.Compile(RequestOf(*plan, source, fmt::format("{}.cu", what),
                                                                       architecture_, compile_limit_)));
    if (!result.launch_error.empty()) return at_fault(fmt::format("cannot be launched: {}", result.launch_error));
    if (!result.ok) return at_fault(fmt::format("does not compile:\n{}", result.log));
    SetKernel(source, result, kernel);
    return absl::OkStatus();
  }

 private:
  static void SetKernel(const std::string& source, const CompileResult& result, v1::RunKernel* kernel) {
    kernel->set_source(source);
    *kernel->mutable_module() = ToProto(result.kernel);
  }

  const v1::EvaluationSpec& spec_;
  const std::string& architecture_;
  Compiler& compiler_;
  const absl::Duration compile_limit_;
};

std::string WordOf(v1::Comparison::Against against) {
  return against == v1::Comparison::BASELINE ? "baseline" : "incumbent";
}

}  // namespace

v1::PhaseTime PhaseOf(std::string phase, absl::Time start, absl::Time from, absl::Time to) {
  v1::PhaseTime time;
  time.set_phase(std::move(phase));
  time.set_start_s(absl::ToDoubleSeconds(from - start));
  time.set_end_s(absl::ToDoubleSeconds(to - start));
  return time;
}

absl::StatusOr<std::shared_ptr<PreparedEvaluation>> PrepareEvaluation(const v1::EvaluationSpec& spec,
                                                                      const std::string& architecture,
                                                                      Compiler& compiler) {
  auto prepared = std::make_shared<PreparedEvaluation>();
  prepared->start = SystemClock()->Now();
  v1::Evaluation& evaluation = prepared->evaluation;
  v1::RunRequest& request = prepared->request;
  Preparation preparation(spec, architecture, compiler);
  RETURN_IF_ERROR(preparation.PrepareCandidate(&evaluation, request.mutable_candidate()));
  if (evaluation.outcome() == v1::OUTCOME_UNSPECIFIED) {
    const v1::Task& task = spec.task();
    RETURN_IF_ERROR(preparation.PrepareTrusted("oracle", task.oracle_source(),
                                               ParseLaunchPlan(task.oracle_source(), task), request.mutable_oracle()));
    for (const v1::Reference& reference : spec.references()) {
      v1::RunReference& added = *request.add_references();
      added.set_against(reference.against());
      RETURN_IF_ERROR(preparation.PrepareTrusted(WordOf(reference.against()), reference.source(),
                                                 PlanOfCandidate(reference.source(), task), added.mutable_kernel()));
    }
    *request.mutable_task() = task;
    request.set_seed(spec.seed());
    request.set_judge_only(spec.judge_only());
    request.set_run_seconds(LimitSeconds(spec.limits().run_seconds(), kRunSecondsDefault));
    prepared->total_limit = absl::Seconds(LimitSeconds(spec.limits().total_seconds(), kTotalSecondsDefault));
  }
  prepared->prepared_at = SystemClock()->Now();
  *evaluation.add_phases() = PhaseOf("compile", prepared->start, prepared->start, prepared->prepared_at);
  return prepared;
}

}  // namespace fsr
