// faults: right kernels between all ways to break. Does each get its outcome, and does it cost the right ones anything?
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/clock.h"
#include "common/status_macros.h"
#include "tests/gpu/bench.h"
#include "tests/gpu/lab.h"
#include "tests/gpu/small_task.h"
#include "worker/meter/statistics.h"

namespace fsr {
namespace {

constexpr double kRunSeconds = 1;
constexpr int kUsualRuns = 12;
// Until the spare child has its context, too.
constexpr absl::Duration kSettle = absl::Seconds(4);

struct Break {
  const char* name;
  v1::Outcome outcome;
  KernelParts parts;
};

std::vector<Break> Breaks() {
  return {{"hang", v1::TIMEOUT, {.body = kHang}},
          {"trap", v1::RUNTIME_FAULT, {.body = kTrap}},
          {"illegal address", v1::RUNTIME_FAULT, {.body = kIllegalAddress}},
          {"launch failure",
           v1::LAUNCH_ERROR,
           {.body = kTwice, .launch = "grid=(ceil_div(n, 256)) block=(256) shared=1000000"}},
          {"wrong answer", v1::MISMATCH, {.body = kWrong}}};
}

// What the right kernels between the broken ones came to.
struct RightRuns {
  std::vector<double> latency_us;
  std::map<std::string, std::vector<double>> seconds_after;  // by what was before
  int not_measured = 0;
};

// Used bytes of the GPU's memory, by everybody.
absl::StatusOr<double> UsedMiB(const cuda::CudaDevice& gpu) {
  SystemClock()->Sleep(kSettle);
  size_t free = 0, total = 0;
  RETURN_IF_ERROR(cuda::ToStatus(gpu.driver(), gpu.driver().MemGetInfo(&free, &total), "asking for free memory"));
  return static_cast<double>(total - free) / (1 << 20);
}

v1::EvaluationSpec Spec(const v1::Task& task, const KernelParts& parts) {
  v1::EvaluationSpec spec = SpecOf(task, KernelFile(parts), task.baseline_source());
  spec.mutable_limits()->set_run_seconds(kRunSeconds);
  return spec;
}

absl::Status RunRight(Lab& lab, const v1::Task& task, const std::string& before, RightRuns& runs) {
  ASSIGN_OR_RETURN(const Lab::Timed timed, lab.Evaluate(Spec(task, {.body = kTwice})));
  if (timed.evaluation.outcome() == v1::MEASURED) {
    runs.latency_us.push_back(timed.evaluation.measurement().latency_us());
  } else {
    ++runs.not_measured;
    fmt::print(stderr, "A right kernel after {}: {}\n", before, timed.evaluation.diagnosis());
  }
  runs.seconds_after[before].push_back(timed.seconds);
  return absl::OkStatus();
}

std::string SpreadText(const std::vector<double>& us) {
  if (us.empty()) return "none";
  const auto [low, high] = std::minmax_element(us.begin(), us.end());
  const Spread spread = SpreadOf(us);
  return fmt::format("median {:.3f} us, quartiles {:.3f} to {:.3f}, all {:.3f} to {:.3f} ({:+.1f} % to {:+.1f} %)",
                     spread.median, spread.p25, spread.p75, *low, *high, 100 * (*low / spread.median - 1),
                     100 * (*high / spread.median - 1));
}

}  // namespace

absl::Status BenchFaults(const BenchOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<cuda::CudaDevice> gpu, OpenGpu(options.device));
  ASSIGN_OR_RETURN(const std::unique_ptr<Lab> lab, Lab::Open(options.device));
  v1::Task task = DoubleTask();
  (*task.mutable_measure()->mutable_sizes())["n"] = 1 << 23;
  RightRuns usual, between;
  for (int i = 0; i < kUsualRuns; ++i) RETURN_IF_ERROR(RunRight(*lab, task, "a right one", usual));
  const double usual_seconds = MedianOf(usual.seconds_after["a right one"]);
  ASSIGN_OR_RETURN(const double used_before, UsedMiB(*gpu));

  const Budget budget(options);
  const std::vector<Break> breaks = Breaks();
  std::map<std::string, std::map<v1::Outcome, int>> outcomes;
  std::map<std::string, std::vector<double>> seconds;
  int done = 0, wrong = 0;
  for (; done < options.count && !budget.Over(); done += 2) {
    const Break& broken = breaks[static_cast<size_t>(done / 2) % breaks.size()];
    ASSIGN_OR_RETURN(const Lab::Timed timed, lab->Evaluate(Spec(task, broken.parts)));
    const v1::Outcome outcome = timed.evaluation.outcome();
    ++outcomes[broken.name][outcome];
    seconds[broken.name].push_back(timed.seconds);
    if (outcome != broken.outcome) {
      ++wrong;
      fmt::print(stderr, "{}: {}\n", broken.name, timed.evaluation.diagnosis());
    }
    RETURN_IF_ERROR(RunRight(*lab, task, broken.name, between));
  }
  ASSIGN_OR_RETURN(const double used_after, UsedMiB(*gpu));

  MarkdownTable table(
      {"kernel", "expected", "seen", "its seconds, median", "recovery s, median", "recovery s, largest"});
  std::vector<double> recoveries;
  for (const Break& broken : breaks) {
    std::string seen;
    for (const auto& [outcome, count] : outcomes[broken.name]) {
      seen += fmt::format("{}{} x {}", seen.empty() ? "" : ", ", count, v1::Outcome_Name(outcome));
    }
    std::vector<double> recovery;
    for (const double after : between.seconds_after[broken.name]) recovery.push_back(after - usual_seconds);
    recoveries.insert(recoveries.end(), recovery.begin(), recovery.end());
    table.Add({broken.name, v1::Outcome_Name(broken.outcome), seen,
               fmt::format("{:.2f}", MedianOf(seconds[broken.name])), fmt::format("{:.2f}", MedianOf(recovery)),
               fmt::format("{:.2f}", recovery.empty() ? 0 : *std::max_element(recovery.begin(), recovery.end()))});
  }
  table.Print();
  fmt::print(
      "{} evaluations in {:.0f} s ({} asked for), half of them right kernels. Outcomes not as expected: {} of "
      "broken kernels, {} of right ones.\n\n",
      done, budget.Spent(), options.count, wrong, between.not_measured);
  fmt::print("- Right kernels between broken ones: {}.\n", SpreadText(between.latency_us));
  fmt::print("- Right kernels before any broken one: {}.\n", SpreadText(usual.latency_us));
  fmt::print("- Recovery (a right kernel's evaluation after a broken one, less the usual {:.2f} s): median {:.2f} s.\n",
             usual_seconds, MedianOf(recoveries));
  fmt::print("- GPU memory in use: {:.0f} MiB before, {:.0f} MiB after. Children replaced: {}.\n", used_before,
             used_after, lab->evaluator().child_restart_count());
  return absl::OkStatus();
}

}  // namespace fsr
