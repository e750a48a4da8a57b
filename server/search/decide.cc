#include "server/search/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "server/search/plan_round.h"
#include "server/search/promotion.h"

namespace fsr {
namespace {

int RoundCountMax(const v1::Job& job) {
  const uint32_t asked = job.options().round_count_max();
  return asked == 0 ? kRoundsDefault : static_cast<int>(asked);
}

// The round that the last prompt belongs to; 0 before the first one.
int CurrentRound(const JobFacts& facts) { return facts.prompts.empty() ? 0 : facts.prompts.back().round; }

decision::End BaselineFailed(const JobFacts& facts) {
  constexpr size_t kDiagnosisBytesMax = 2000;
  const v1::Evaluation& baseline = *facts.baseline;
  std::string what = v1::Outcome_Name(baseline.outcome());
  if (!baseline.diagnosis().empty()) what += ": " + baseline.diagnosis().substr(0, kDiagnosisBytesMax);
  std::string advice =
      "Correct the task's baseline.cu (or its oracle.cu, if that is what is wrong) and hand the job in again.";
  if (baseline.outcome() == v1::MEASURED) {
    what = "it is right, but no time was measured";
  } else if (baseline.outcome() == v1::UNSUPPORTED && baseline.signature() != "task_fault") {
    advice = "Choose a kind of device that can run the task's baseline.cu, or write one that this kind can run.";
  }
  return {v1::Job::FAILED, fmt::format("The baseline of task \"{}\" cannot be used on {}: {} {}", facts.task.name(),
                                       facts.job.device_kind(), what, advice)};
}

// What is still to be done for the prompts of `round`; nullopt when each has a candidate with a result.
std::optional<Decision> DecideWithinRound(const JobFacts& facts, int round, bool exhausted) {
  std::vector<int> unanswered, without_candidate;
  for (const StoredPrompt& prompt : facts.prompts) {
    if (prompt.round != round) continue;
    if (!prompt.completion) {
      unanswered.push_back(prompt.number);
    } else if (prompt.candidate == 0) {
      without_candidate.push_back(prompt.number);
    }
  }
  // Candidates first: workers evaluate them while the generator is asked for the rest.
  if (!without_candidate.empty()) return decision::MakeCandidates{std::move(without_candidate)};
  if (!unanswered.empty() && !exhausted) return decision::Ask{std::move(unanswered)};
  const bool all_have_results = std::all_of(facts.candidates.begin(), facts.candidates.end(),
                                            [&](const StoredCandidate& c) { return c.round != round || c.result; });
  if (!all_have_results) return decision::Wait{};
  return std::nullopt;
}

std::optional<std::string> TargetReached(const JobFacts& facts) {
  const StoredCandidate* incumbent = FindCandidate(facts, facts.incumbent);
  if (incumbent == nullptr) return std::nullopt;
  const double best_us = incumbent->result->measurement().latency_us();
  const double baseline_us = facts.baseline->measurement().latency_us();
  const v1::JobOptions& options = facts.job.options();
  if (options.target_speedup() > 0 && baseline_us / best_us >= options.target_speedup()) {
    return fmt::format("The target speed-up of {:.2f} is reached: {:.2f} ({:.4g} us; the baseline takes {:.4g} us).",
                       options.target_speedup(), baseline_us / best_us, best_us, baseline_us);
  }
  if (options.target_latency_us() > 0 && best_us <= options.target_latency_us()) {
    return fmt::format("The target latency of {:.4g} us is reached: {:.4g} us.", options.target_latency_us(), best_us);
  }
  return std::nullopt;
}

// Why the job is over now that `round` is complete; nullopt: it goes on.
std::optional<std::string> ReasonToStop(const JobFacts& facts, int round, bool exhausted) {
  if (auto reached = TargetReached(facts)) return reached;
  const int counted = CountedRounds(facts, round);
  if (counted >= RoundCountMax(facts.job)) {
    if (counted == round) return fmt::format("All {} rounds are done.", round);
    return fmt::format("All {} rounds are done, after {} that did not count since nothing was right yet.", counted,
                       round - counted);
  }
  const StoredCandidate* incumbent = FindCandidate(facts, facts.incumbent);
  const int rounds_without_progress = round - (incumbent == nullptr ? 0 : incumbent->round);
  const auto patience = static_cast<int>(facts.job.options().patience_rounds());
  if (patience > 0 && rounds_without_progress >= patience) {
    return fmt::format("{} rounds in a row brought nothing faster: the patience of the job is used up.",
                       rounds_without_progress);
  }
  if (auto used_up = BudgetUsedUp(facts.job.options(), facts.job.usage())) return used_up;
  if (exhausted) return fmt::format("The generator has nothing more to propose, in round {}.", round);
  return std::nullopt;
}

decision::End OutOfTime(const JobFacts& facts) {
  const int round = CurrentRound(facts);
  return {v1::Job::FINISHED,
          fmt::format("The job's time of {:.6g} s is used up, {}.", facts.job.options().wall_seconds_max(),
                      round == 0 ? "before the first round" : fmt::format("in round {}", round))};
}

}  // namespace

Decision Decide(const JobFacts& facts, absl::Time now, bool exhausted) {
  const bool out_of_time = now >= WallDeadline(facts.job);
  if (!facts.baseline) {
    if (out_of_time) return OutOfTime(facts);
    if (facts.baseline_evaluation == 0) return decision::EvaluateBaseline{};
    return decision::Wait{};
  }
  if (!IsRight(*facts.baseline)) return BaselineFailed(facts);

  const int round = CurrentRound(facts);
  if (round > 0) {
    if (!out_of_time) {
      const bool no_more_answers = exhausted || BudgetUsedUp(facts.job.options(), facts.job.usage());
      if (auto within_round = DecideWithinRound(facts, round, no_more_answers)) return *std::move(within_round);
    }
    if (auto promotion = DecidePromotion(facts, round, /*may_wait=*/!out_of_time)) return *std::move(promotion);
  }
  if (out_of_time) return OutOfTime(facts);
  if (auto reason = ReasonToStop(facts, round, exhausted)) return decision::End{v1::Job::FINISHED, *std::move(reason)};
  return decision::StartRound{round + 1, PlanRound(facts, round)};
}

absl::Time WallDeadline(const v1::Job& job) {
  const double seconds = job.options().wall_seconds_max();
  if (!(seconds > 0)) return absl::InfiniteFuture();
  return absl::FromUnixMicros(job.created_at_us()) + absl::Seconds(seconds);
}

std::optional<std::string> BudgetUsedUp(const v1::JobOptions& options, const v1::Usage& usage) {
  const uint64_t tokens = usage.input_tokens() + usage.output_tokens();
  if (options.token_budget() > 0 && tokens >= options.token_budget()) {
    return fmt::format("The budget of {} tokens is used up: {} were spent.", options.token_budget(), tokens);
  }
  if (options.cost_budget_usd() > 0 && usage.cost_usd() >= options.cost_budget_usd()) {
    return fmt::format("The budget of ${:.2f} is used up: ${:.4f} were spent.", options.cost_budget_usd(),
                       usage.cost_usd());
  }
  return std::nullopt;
}

bool IsRight(const v1::Evaluation& evaluation) {
  return evaluation.outcome() == v1::MEASURED && evaluation.measurement().latency_us() > 0;
}

const StoredCandidate* FindCandidate(const JobFacts& facts, int number) {
  const auto found = std::lower_bound(facts.candidates.begin(), facts.candidates.end(), number,
                                      [](const StoredCandidate& c, int n) { return c.number < n; });
  return found != facts.candidates.end() && found->number == number ? &*found : nullptr;
}

}  // namespace fsr
