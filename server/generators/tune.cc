#include "server/generators/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/launch_plan.h"
#include "common/random.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "server/answers/fenced_block.h"
#include "server/answers/read_answer.h"
#include "server/generators/tune_search.h"

namespace fsr {
namespace {

std::vector<std::vector<int64_t>> ValuesOf(const LaunchPlan& plan) {
  std::vector<std::vector<int64_t>> values;
  for (const Tunable& tunable : plan.tunables) values.push_back(tunable.values);
  return values;
}

// The cases that every candidate must be launched for: a configuration that one of them refuses is never right.
std::vector<v1::Case> CasesToLaunch(const v1::Task& task, const std::string& device_kind) {
  const bool simulated = device_kind.rfind("sim:", 0) == 0;
  std::vector<v1::Case> cases(task.cases().begin(), task.cases().end());
  cases.push_back(simulated && task.has_measure_simulated() ? task.measure_simulated() : task.measure());
  return cases;
}

class Tune : public Generator {
 public:
  Tune(v1::Task task, LaunchPlan plan, std::optional<LaunchPlan> fixed)
      : task_(std::move(task)),
        plan_(std::move(plan)),
        fixed_(std::move(fixed)),
        search_(ValuesOf(plan_), [this](const Configuration& at) { return Resolves(at); }) {}

  absl::Status Answer(const JobFacts& facts, const std::vector<StoredPrompt>& prompts, AnswerSink& sink) override {
    if (prompts.empty()) return absl::OkStatus();
    if (cases_.empty()) cases_ = CasesToLaunch(task_, facts.job.device_kind());
    std::set<Configuration> known;
    const std::vector<TunedResult> results = ResultsBefore(facts, prompts.front().round, &known);
    for (const StoredPrompt& prompt : prompts) {
      SplitMix64 random(DeriveSeed(facts.job.options().seed(), fmt::format("tune prompt {}", prompt.number)));
      const std::optional<Configuration> at = search_.Propose(results, known, random);
      if (!at) {
        return absl::OutOfRangeError(fmt::format("All configurations that can be launched were proposed ({} of {}).",
                                                 known.size(), search_.size()));
      }
      known.insert(*at);
      ASSIGN_OR_RETURN(const std::string source, PinTunables(task_.tunable_source(), Named(*at)));
      const std::string change = ChangeOf(*at, results);
      RETURN_IF_ERROR(sink.Deliver({{prompt.number, change + "\n\n" + FencedBlock(source, "cuda") + "\n", change}}));
    }
    return absl::OkStatus();
  }

 private:
  bool Resolves(const Configuration& at) const {
    LaunchPlan pinned = plan_;
    for (size_t i = 0; i < at.size(); ++i) {
      pinned.tunables[i].values = {plan_.tunables[i].values[static_cast<size_t>(at[i])]};
    }
    return std::all_of(cases_.begin(), cases_.end(),
                       [&](const v1::Case& which) { return Resolve(pinned, task_, which).ok(); });
  }

  std::map<std::string, int64_t> Named(const Configuration& at) const {
    std::map<std::string, int64_t> named;
    for (size_t i = 0; i < at.size(); ++i) {
      named[plan_.tunables[i].name] = plan_.tunables[i].values[static_cast<size_t>(at[i])];
    }
    return named;
  }

  // The configuration that a completion of ours pins; nullopt for anything else. Completions never change, so each is
  // read once.
  std::optional<Configuration> ConfigurationOf(const StoredPrompt& prompt) {
    const auto [entry, is_new] = read_.try_emplace(prompt.number);
    if (!is_new) return entry->second;
    const auto code = ReadAnswer(*prompt.completion, {task_, ""});
    if (!std::holds_alternative<std::string>(code)) return std::nullopt;
    const auto plan = ParseLaunchPlan(std::get<std::string>(code), task_, fixed_ ? &*fixed_ : nullptr);
    if (!plan.ok() || plan->tunables.size() != plan_.tunables.size()) return std::nullopt;
    Configuration at;
    for (size_t i = 0; i < plan_.tunables.size(); ++i) {
      const std::vector<int64_t>& values = plan_.tunables[i].values;
      const auto value = std::find(values.begin(), values.end(), plan->tunables[i].values.front());
      if (plan->tunables[i].name != plan_.tunables[i].name || value == values.end()) return std::nullopt;
      at.push_back(static_cast<int>(value - values.begin()));
    }
    return entry->second = std::move(at);
  }

  // What rounds before `round` brought; `known` gets every configuration proposed so far.
  std::vector<TunedResult> ResultsBefore(const JobFacts& facts, int round, std::set<Configuration>* known) {
    std::map<int, const StoredCandidate*> by_prompt;
    for (const StoredCandidate& candidate : facts.candidates) by_prompt[candidate.prompt] = &candidate;
    std::vector<TunedResult> results;
    for (const StoredPrompt& prompt : facts.prompts) {
      if (!prompt.completion) continue;
      std::optional<Configuration> at = ConfigurationOf(prompt);
      if (!at) continue;
      known->insert(*at);
      const auto candidate = by_prompt.find(prompt.number);
      if (prompt.round >= round || candidate == by_prompt.end() || !candidate->second->result) continue;
      const v1::Evaluation& result = *candidate->second->result;
      const double latency_us = result.measurement().latency_us();
      const bool is_right = result.outcome() == v1::MEASURED && latency_us > 0;
      results.push_back({*std::move(at), is_right ? std::optional(latency_us) : std::nullopt});
    }
    return results;
  }

  // "TILE 32 -> 16 (best so far 3.2 us)": against the fastest configuration known, else against the default.
  std::string ChangeOf(const Configuration& at, const std::vector<TunedResult>& results) const {
    const TunedResult* best = nullptr;
    for (const TunedResult& result : results) {
      if (result.latency_us && (best == nullptr || *result.latency_us < *best->latency_us)) best = &result;
    }
    const Configuration from = best == nullptr ? Configuration(at.size(), 0) : best->at;
    std::string change;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] == from[i]) continue;
      const Tunable& tunable = plan_.tunables[i];
      change += fmt::format("{}{} {} -> {}", change.empty() ? "" : ", ", tunable.name,
                            tunable.values[static_cast<size_t>(from[i])], tunable.values[static_cast<size_t>(at[i])]);
    }
    if (change.empty()) return "The default configuration.";
    return best == nullptr ? change + " (from the default)"
                           : change + fmt::format(" (best so far {:.4g} us)", *best->latency_us);
  }

  const v1::Task task_;
  const LaunchPlan plan_;
  const std::optional<LaunchPlan> fixed_;
  std::vector<v1::Case> cases_;  // from the first prompts on
  TuneSearch search_;
  std::map<int, std::optional<Configuration>> read_;  // by prompt
};

}  // namespace

absl::StatusOr<std::unique_ptr<Generator>> NewTune(const v1::GeneratorSpec& /*spec*/, const v1::Task& task) {
  if (task.tunable_source().empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "The generator \"tune\" needs a tunable kernel, and task \"{}\" has none: put a tunable.cu with lines such as "
        "\"// fsr: tune TILE = 32, 16, 64\" beside its task.yaml.",
        task.name()));
  }
  std::optional<LaunchPlan> fixed;
  if (task.launch() == v1::Task::FIXED) {
    ASSIGN_OR_RETURN(fixed, ParseLaunchPlan(task.baseline_source(), task));
  }
  auto plan = ParseLaunchPlan(task.tunable_source(), task, fixed ? &*fixed : nullptr);
  if (!plan.ok()) return absl::InvalidArgumentError(fmt::format("tunable.cu: {}", MessageOf(plan.status())));
  if (plan->tunables.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "The tunable.cu of task \"{}\" has no \"// fsr: tune NAME = value, value\" line: there is nothing to search.",
        task.name()));
  }
  return std::make_unique<Tune>(task, *std::move(plan), std::move(fixed));
}

}  // namespace fsr
