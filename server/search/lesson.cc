#include "server/search/lesson.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/launch_plan.h"
#include "common/utf8.h"
#include "server/search/decide.h"

namespace fsr {
namespace {

constexpr size_t kChangeBytesMax = 300;
constexpr size_t kHintsMax = 3;

// One line, and not too long.
std::string Line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!space) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (line.size() > kChangeBytesMax) line = ToUtf8(line.substr(0, kChangeBytesMax)) + " …";
  return line;
}

double LatencyUs(const StoredCandidate& candidate) { return candidate.result->measurement().latency_us(); }

// From the first right kernel to the winner, without the failures between them: a step is the change of its kernel, and
// of those that had to be mended on the way to it.
struct Step {
  const StoredCandidate* candidate = nullptr;
  std::string change;
  double before_us = 0;  // 0: the first right one
};

std::vector<Step> Lineage(const JobFacts& facts, const StoredCandidate& winner) {
  std::vector<Step> steps;  // the last one first
  for (const StoredCandidate* at = &winner; at != nullptr; at = FindCandidate(facts, at->parent_candidate)) {
    if (!at->result) break;
    const std::string change = Line(at->change);
    if (IsRight(*at->result)) {
      if (!steps.empty()) steps.back().before_us = LatencyUs(*at);
      steps.push_back({at, change});
    } else if (!change.empty()) {
      std::string& after = steps.back().change;
      after = after.empty() ? change : fmt::format("{}; then: {}", change, after);
    }
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

// The first one, and the others that brought most, in their order.
void KeepMostEffective(std::vector<Step>* steps) {
  if (steps->size() <= static_cast<size_t>(kLessonStepsMax)) return;
  const auto gain = [](const Step& step) { return step.before_us / LatencyUs(*step.candidate); };
  std::vector<double> gains;
  for (size_t i = 1; i < steps->size(); ++i) gains.push_back(gain((*steps)[i]));
  std::nth_element(gains.begin(), gains.begin() + kLessonStepsMax - 2, gains.end(), std::greater<>());
  const double least = gains[kLessonStepsMax - 2];
  std::vector<Step> kept;
  for (const Step& step : *steps) {
    const bool first = kept.empty();
    if (first || (gain(step) >= least && kept.size() < static_cast<size_t>(kLessonStepsMax))) kept.push_back(step);
  }
  *steps = std::move(kept);
}

std::string StepLine(const Step& step) {
  const std::string change = step.change.empty() ? "a change that was not described" : step.change;
  const double now_us = LatencyUs(*step.candidate);
  if (step.before_us == 0) return fmt::format("- The first right kernel: {} ({:.4g} us).\n", change, now_us);
  const double gain = step.before_us / now_us;
  return fmt::format("- {} ({:.4g} us -> {:.4g} us, {}).\n", change, step.before_us, now_us,
                     gain >= 1 ? fmt::format("{:.3g} times as fast", gain) : "slower");
}

std::string TuneLine(const StoredCandidate& winner, const v1::Task& task) {
  const auto plan = ParseLaunchPlan(winner.source, task);
  if (!plan.ok() || plan->tunables.empty()) return "";
  std::string values;
  for (const Tunable& tunable : plan->tunables) {
    values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", tunable.name, tunable.values.front());
  }
  return fmt::format("Its tuned values: {}.\n", values);
}

std::string TextOf(const JobFacts& facts, const StoredCandidate& winner, double speedup) {
  const v1::Measurement& measured = winner.result->measurement();
  std::string text =
      fmt::format("The winner takes {:.4g} us{}, {:.3g} times as fast as the baseline.\n", measured.latency_us(),
                  measured.estimated() ? " by a simulator's estimate" : " as measured", speedup);
  std::vector<Step> steps = Lineage(facts, winner);
  KeepMostEffective(&steps);
  for (const Step& step : steps) text += StepLine(step);
  text += TuneLine(winner, facts.task);
  if (!measured.limited_by().empty()) text += fmt::format("It is limited by: {}.\n", Line(measured.limited_by()));
  for (size_t i = 0; i < std::min<size_t>(kHintsMax, static_cast<size_t>(winner.result->hints_size())); ++i) {
    text += fmt::format("Observed: {}\n", Line(winner.result->hints(static_cast<int>(i))));
  }
  if (text.size() > static_cast<size_t>(kLessonTextBytesMax)) {
    text.resize(text.rfind('\n', kLessonTextBytesMax - 1) + 1);
  }
  return text;
}

}  // namespace

std::optional<NewLesson> LessonOf(const JobFacts& facts) {
  if (facts.job.options().strategy().no_memory()) return std::nullopt;
  const StoredCandidate* winner = FindCandidate(facts, facts.incumbent);
  if (winner == nullptr || !winner->result || !facts.baseline || !IsRight(*facts.baseline)) return std::nullopt;
  const v1::Measurement& measured = winner->result->measurement();
  const v1::Measurement& baseline = facts.baseline->measurement();
  if (measured.estimated() != baseline.estimated()) return std::nullopt;
  const double speedup = baseline.latency_us() / measured.latency_us();
  if (!(speedup > 1)) return std::nullopt;
  // Measured beside the baseline, a difference that does not stand clear of the noise is none.
  for (const v1::Comparison& comparison : winner->result->comparisons()) {
    const v1::Verdict verdict = comparison.verdict();
    if (comparison.against() == v1::Comparison::BASELINE && verdict != v1::VERDICT_UNSPECIFIED &&
        verdict != v1::FASTER) {
      return std::nullopt;
    }
  }
  NewLesson lesson;
  lesson.candidate = winner->number;
  lesson.device_kind = measured.device().kind().empty() ? facts.job.device_kind() : measured.device().kind();
  lesson.speedup = speedup;
  lesson.estimated = measured.estimated();
  lesson.text = TextOf(facts, *winner, speedup);
  return lesson;
}

}  // namespace fsr
