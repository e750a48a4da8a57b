// aa: a kernel against itself. stages: where an evaluation's time goes. rate: evaluations an hour.
#include <fmt/format.h>

#include <map>

#include "common/files.h"
#include "common/status_macros.h"
#include "tests/gpu/bench.h"
#include "tests/gpu/lab.h"
#include "tests/gpu/variants.h"

namespace fsr {
namespace {

absl::Status NotMeasured(const v1::Task& task, const v1::Evaluation& evaluation) {
  return absl::InternalError(fmt::format("A right kernel of {} came out as {}: {}", task.name(),
                                         v1::Outcome_Name(evaluation.outcome()), evaluation.diagnosis()));
}

constexpr const char* kPhases[] = {"compile", "judge", "measure", "counters"};

// By phase; one that an evaluation does not have is missing.
std::map<std::string, double> PhaseSeconds(const v1::Evaluation& evaluation) {
  std::map<std::string, double> seconds;
  for (const v1::PhaseTime& time : evaluation.phases()) seconds[time.phase()] += time.end_s() - time.start_s();
  return seconds;
}

}  // namespace

absl::Status BenchSelfComparison(const BenchOptions& options) {
  ASSIGN_OR_RETURN(std::vector<v1::Task> tasks, ChosenTasks(options, {"transpose", "reduction"}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Lab> lab, Lab::Open(options.device));
  const Budget budget(options);
  std::vector<std::map<v1::Verdict, int>> verdicts(tasks.size());
  std::vector<std::vector<double>> ratios(tasks.size());
  int done = 0, other = 0;
  for (int i = 0; i < options.count && !budget.Over(); ++i, ++done) {
    const size_t which = static_cast<size_t>(i) % tasks.size();
    const v1::Task task = options.full ? tasks[which] : WithSimulatedSizes(tasks[which]);
    ASSIGN_OR_RETURN(const Lab::Timed timed, lab->Evaluate(SpecOf(task, task.tunable_source(), task.tunable_source())));
    if (timed.evaluation.outcome() != v1::MEASURED) return NotMeasured(task, timed.evaluation);
    const v1::Comparison& comparison = timed.evaluation.comparisons(0);
    ++verdicts[which][comparison.verdict()];
    ratios[which].push_back(comparison.ratio());
    if (comparison.verdict() != v1::SAME) ++other;
  }
  MarkdownTable table({"task", "runs", "SAME", "FASTER", "SLOWER", "AMBIGUOUS", "least ratio", "largest ratio"});
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (ratios[i].empty()) continue;
    const auto [low, high] = std::minmax_element(ratios[i].begin(), ratios[i].end());
    table.Add({tasks[i].name(), fmt::format("{}", ratios[i].size()), fmt::format("{}", verdicts[i][v1::SAME]),
               fmt::format("{}", verdicts[i][v1::FASTER]), fmt::format("{}", verdicts[i][v1::SLOWER]),
               fmt::format("{}", verdicts[i][v1::AMBIGUOUS]), fmt::format("{:.4f}", *low),
               fmt::format("{:.4f}", *high)});
  }
  table.Print();
  fmt::print("{} self-comparisons in {:.0f} s ({} asked for): {} not SAME, {:.2f} %.\n", done, budget.Spent(),
             options.count, other, done > 0 ? 100.0 * other / done : 0.0);
  return absl::OkStatus();
}

absl::Status BenchStages(const BenchOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<v1::Task> tasks, ChosenTasks(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<Lab> lab, Lab::Open(options.device));
  const Budget budget(options);
  MarkdownTable table({"task", "runs", "total s", "compile s", "judge s", "measure s", "counters s", "samples"});
  std::vector<double> all;
  for (const v1::Task& given : tasks) {
    const v1::Task task = options.full ? given : WithSimulatedSizes(given);
    std::map<std::string, std::vector<double>> seconds;
    std::vector<double> totals, samples;
    // The first one compiles oracle and baseline, too: it warms the worker, and is not counted.
    for (int i = 0; i <= options.count && (!budget.Over() || totals.empty()); ++i) {
      ASSIGN_OR_RETURN(const Lab::Timed timed,
                       lab->Evaluate(SpecOf(task, Renewed(task.tunable_source(), i), task.baseline_source())));
      if (timed.evaluation.outcome() != v1::MEASURED) return NotMeasured(task, timed.evaluation);
      if (i == 0) continue;
      totals.push_back(timed.seconds);
      samples.push_back(timed.evaluation.measurement().sample_count());
      for (const auto& [phase, spent] : PhaseSeconds(timed.evaluation)) seconds[phase].push_back(spent);
    }
    all.insert(all.end(), totals.begin(), totals.end());
    std::vector<std::string> row = {task.name(), fmt::format("{}", totals.size()),
                                    fmt::format("{:.3f}", MedianOf(totals))};
    for (const char* phase : kPhases) {
      row.push_back(seconds.count(phase) != 0 ? fmt::format("{:.3f}", MedianOf(seconds[phase])) : "in measure");
    }
    row.push_back(fmt::format("{:.0f}", MedianOf(samples)));
    table.Add(std::move(row));
    fmt::print(stderr, "stages: {} done after {:.0f} s\n", task.name(), budget.Spent());
  }
  table.Print();
  fmt::print(
      "Medians of evaluations of the tunable kernel beside the baseline, {} sizes, warm worker; every candidate "
      "is compiled anew, oracle and baseline come from the cache. Median of all: {:.3f} s.\n",
      options.full ? "full" : "the simulator's", MedianOf(all));
  return absl::OkStatus();
}

absl::Status BenchRate(const BenchOptions& options) {
  if (options.folder.empty()) return absl::InvalidArgumentError("rate needs --folder, where the kernels are written.");
  ASSIGN_OR_RETURN(const std::vector<v1::Task> tasks, ChosenTasks(options, {"transpose"}));
  const v1::Task& task = tasks.front();
  ASSIGN_OR_RETURN(const std::vector<Variant> variants, TunableVariants(task, options.count, options.seed));
  ASSIGN_OR_RETURN(const std::unique_ptr<Lab> lab, Lab::Open(options.device));
  RETURN_IF_ERROR(lab->Evaluate(SpecOf(task, task.baseline_source(), task.baseline_source())).status());
  MarkdownTable table({"kernel", "outcome", "time us", "seconds"});
  std::string json;
  double seconds = 0;
  for (size_t i = 0; i < variants.size(); ++i) {
    const std::string name = fmt::format("{:02}.cu", i);
    RETURN_IF_ERROR(WriteFileAtomically(std::filesystem::path(options.folder) / name, variants[i].source));
    ASSIGN_OR_RETURN(const Lab::Timed timed, lab->Evaluate(SpecOf(task, variants[i].source, task.baseline_source())));
    seconds += timed.seconds;
    const std::string outcome = v1::Outcome_Name(timed.evaluation.outcome());
    const double us = timed.evaluation.measurement().latency_us();
    table.Add({variants[i].label, outcome, fmt::format("{:.1f}", us), fmt::format("{:.2f}", timed.seconds)});
    json += fmt::format("{}{{\"file\":\"{}\",\"outcome\":\"{}\",\"latency_us\":{},\"seconds\":{}}}",
                        json.empty() ? "" : ",", name, outcome, us, timed.seconds);
  }
  table.Print();
  const double per_hour = seconds > 0 ? 3600 * static_cast<double>(variants.size()) / seconds : 0;
  fmt::print("{} kernels of {} in {:.1f} s: {:.0f} candidates an hour.\n", variants.size(), task.name(), seconds,
             per_hour);
  return WriteFileAtomically(
      std::filesystem::path(options.folder) / "fsr.json",
      fmt::format("{{\"task\":\"{}\",\"candidates_per_hour\":{},\"kernels\":[{}]}}\n", task.name(), per_hour, json));
}

}  // namespace fsr
