#include "worker/judge/judge.h"

#include <utility>

#include "common/random.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "common/task_loader.h"
#include "fmt/format.h"
#include "worker/judge/bench.h"
#include "worker/judge/measured_case.h"
#include "worker/judge/output_check.h"

namespace fsr {
namespace {

// A second run in the same buffers and module, with fresh data and another poison, finds what keeps a result, counts
// its launches, or leaves elements that held the right value by luck.
constexpr int kRunsPerCase = 2;

// One case of one candidate, judged. `index` tells cases apart in seeds.
class CaseJudge {
 public:
  CaseJudge(Device& device, const v1::Task& task, const LoadableKernel& candidate, const LoadableKernel& oracle,
            const JudgeOptions& options)
      : device_(device), task_(task), candidate_(candidate), oracle_(oracle), options_(options) {}

  // Fills in `result` but for its outcome, which is returned.
  absl::StatusOr<v1::Outcome> Judge(const v1::Case& which, int index, int run_count, v1::CaseResult& result);

  const std::map<std::string, uint64_t>& executed_instructions() const { return executed_instructions_; }

 private:
  absl::StatusOr<v1::Outcome> JudgeRun(Bench& bench, LoadedKernel& loaded, int run, uint64_t seed,
                                       std::vector<HostBuffer>& outputs_before, v1::CaseResult& result);

  Device& device_;
  const v1::Task& task_;
  const LoadableKernel& candidate_;
  const LoadableKernel& oracle_;
  const JudgeOptions& options_;
  std::map<std::string, uint64_t> executed_instructions_;
};

v1::Outcome Record(LaunchReport::Failure& failure, v1::CaseResult& result) {
  *result.mutable_fault() = std::move(failure.fault);
  return failure.outcome;
}

absl::StatusOr<v1::Outcome> CaseJudge::Judge(const v1::Case& which, int index, int run_count, v1::CaseResult& result) {
  auto bench = Bench::Create(device_, task_, which);
  if (absl::IsResourceExhausted(bench.status())) {
    result.mutable_fault()->set_kind("out_of_memory");
    result.mutable_fault()->set_message(
        fmt::format("The task's buffers do not fit on the device: {}", MessageOf(bench.status())));
    return v1::UNSUPPORTED;
  }
  if (!bench.ok()) return bench.status();
  // A grid of 0 blocks, which such a case gives most kernels, is refused by every device.
  if (!(*bench)->HasOutput()) return v1::MEASURED;

  // Loaded anew for every case: no global variable carries anything from one to the next.
  ASSIGN_OR_RETURN(Bench::LoadResult loaded, (*bench)->Load(candidate_));
  if (loaded.failure) return Record(*loaded.failure, result);
  std::vector<HostBuffer> outputs_before;
  for (int run = 0; run < run_count; ++run) {
    const uint64_t seed = DeriveSeed(options_.seed, fmt::format("case {} run {}", index, run));
    ASSIGN_OR_RETURN(const v1::Outcome outcome, JudgeRun(**bench, *loaded.kernel, run, seed, outputs_before, result));
    if (outcome != v1::MEASURED) return outcome;
  }
  return v1::MEASURED;
}

absl::StatusOr<v1::Outcome> CaseJudge::JudgeRun(Bench& bench, LoadedKernel& loaded, int run, uint64_t seed,
                                                std::vector<HostBuffer>& outputs_before, v1::CaseResult& result) {
  RETURN_IF_ERROR(bench.DrawInputs(seed));
  const PoisonKind poison = run == 0 ? PoisonKind::kInvalid : PoisonKind::kExtreme;
  ASSIGN_OR_RETURN(KernelRun got,
                   bench.Run(loaded, poison, DeriveSeed(seed, "candidate"), {.time_limit = options_.run_limit}));
  for (const auto& [opcode, count] : got.report.executed_instructions) executed_instructions_[opcode] += count;
  if (got.report.failure) return Record(*got.report.failure, result);

  ASSIGN_OR_RETURN(const std::vector<HostBuffer> expected,
                   bench.RunOracle(oracle_, DeriveSeed(seed, "oracle"), options_.run_limit));
  ASSIGN_OR_RETURN(OutputCheck check, CheckOutputs(bench, got, expected, run == 0 ? nullptr : &outputs_before));
  result.set_largest_absolute_error(std::max(result.largest_absolute_error(), check.largest_absolute_error));
  outputs_before = std::move(got.outputs);
  for (v1::Mismatch& mismatch : check.mismatches) {
    if (run > 0) {
      mismatch.set_pattern(fmt::format("right on the first run, wrong on run {} of the same module with fresh data{}{}",
                                       run + 1, mismatch.pattern().empty() ? "" : "; ", mismatch.pattern()));
    }
    *result.add_mismatches() = std::move(mismatch);
  }
  return check.mismatches.empty() ? v1::MEASURED : v1::MISMATCH;
}

// A GPU whose context has broken answers nothing any more.
bool LeavesDeviceUsable(const v1::DeviceFacts& device, v1::Outcome outcome) {
  return device.simulated() || (outcome != v1::RUNTIME_FAULT && outcome != v1::TIMEOUT);
}

}  // namespace

absl::StatusOr<Judgement> Judge(Device& device, const v1::Task& task, const LoadableKernel& candidate,
                                const LoadableKernel& oracle, const JudgeOptions& options) {
  std::vector<const v1::Case*> cases;
  for (const v1::Case& which : task.cases()) cases.push_back(&which);
  if (options.judge_measured_case) cases.push_back(&MeasuredCase(task, device.facts()));

  Judgement judgement;
  judgement.outcome = v1::MEASURED;
  CaseJudge judge(device, task, candidate, oracle, options);
  for (size_t i = 0; i < cases.size(); ++i) {
    const v1::Case& which = *cases[i];
    // Simulating the measured case is what takes longest.
    const bool once = device.facts().simulated() && i >= static_cast<size_t>(task.cases_size());
    v1::CaseResult result;
    result.set_name(NameOf(which));
    *result.mutable_sizes() = which.sizes();
    result.set_held_out(which.held_out());
    const absl::Time start = options.clock->Now();
    const auto outcome = judge.Judge(which, static_cast<int>(i), once ? 1 : kRunsPerCase, result);
    if (!outcome.ok()) {
      return WithContext(fmt::format("judging task {}, case {}", task.name(), NameOf(which)), outcome.status());
    }
    result.set_seconds(absl::ToDoubleSeconds(options.clock->Now() - start));
    result.set_outcome(*outcome);
    judgement.cases.push_back(std::move(result));
    if (*outcome == v1::MEASURED) continue;
    if (judgement.outcome == v1::MEASURED) judgement.outcome = *outcome;
    if (options.stop_at_first_failure || !LeavesDeviceUsable(device.facts(), *outcome)) break;
  }
  judgement.executed_instructions = judge.executed_instructions();
  return judgement;
}

}  // namespace fsr
