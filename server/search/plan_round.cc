#include "server/search/plan_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/random.h"
#include "server/search/directions.h"
#include "server/search/near_misses.h"

namespace fsr {
namespace {

size_t CandidatesPerRound(const v1::Job& job) {
  const uint32_t asked = job.options().candidates_per_round();
  return asked == 0 ? kCandidatesPerRoundDefault : asked;
}

PlannedPrompt Continuing(v1::Branch branch, const StoredCandidate& candidate) {
  PlannedPrompt planned;
  planned.branch = branch;
  planned.dialogue = candidate.dialogue;
  planned.parent_candidate = candidate.number;
  return planned;
}

PlannedPrompt Repair(const StoredCandidate& failed) {
  switch (failed.result->outcome()) {
    case v1::COMPILE_ERROR:
      return Continuing(v1::COMPILE_FAILURE, failed);
    case v1::MISMATCH:
      return Continuing(v1::MISMATCH_FAILURE, failed);
    case v1::REJECTED:
      return Continuing(v1::REJECTED_FAILURE, failed);
    default:
      return Continuing(v1::RUN_FAILURE, failed);
  }
}

// A duplicate has had (or has now) its twin's prompt, so its slot starts afresh, as do slots that nothing came of.
std::vector<PlannedPrompt> PlanRepairs(const JobFacts& facts, int last_round, size_t count) {
  std::vector<PlannedPrompt> planned;
  for (const StoredCandidate& candidate : facts.candidates) {
    if (planned.size() == count) break;
    if (candidate.round != last_round || candidate.duplicate_of != 0 || !candidate.result) continue;
    if (IsRight(*candidate.result)) continue;  // a copy of the baseline: right, but nothing to go on from
    planned.push_back(Repair(candidate));
  }
  planned.resize(count);  // fresh TASK prompts
  return planned;
}

// One prompt for all failures, asked N times: about the nearest one, with the others shown in the order of NearMisses.
std::vector<PlannedPrompt> PlanMergedRepairs(const JobFacts& facts, int last_round, size_t count) {
  const std::vector<PlannedPrompt> all = PlanRepairs(facts, last_round, facts.candidates.size());
  std::vector<int> failures;
  for (const StoredCandidate* near : NearMisses(facts, last_round)) failures.push_back(near->number);
  for (const PlannedPrompt& planned : all) {
    const int number = planned.parent_candidate;
    if (number != 0 && std::find(failures.begin(), failures.end(), number) == failures.end())
      failures.push_back(number);
  }
  if (failures.empty()) return std::vector<PlannedPrompt>(count);
  PlannedPrompt merged = Repair(*FindCandidate(facts, failures.front()));
  failures.erase(failures.begin());
  if (failures.size() > static_cast<size_t>(kMergedFailuresMax)) failures.resize(kMergedFailuresMax);
  merged.other_failures = std::move(failures);
  return std::vector<PlannedPrompt>(count, merged);
}

// The incumbent, then the other right candidates, fastest first. Times of different kinds are not compared.
std::vector<const StoredCandidate*> Parents(const JobFacts& facts, const StoredCandidate& incumbent) {
  std::vector<const StoredCandidate*> others;
  for (const StoredCandidate& candidate : facts.candidates) {
    if (candidate.number == incumbent.number || candidate.duplicate_of != 0 || candidate.evaluation == 0) continue;
    if (!candidate.result || !IsRight(*candidate.result)) continue;
    if (candidate.result->measurement().estimated() != incumbent.result->measurement().estimated()) continue;
    others.push_back(&candidate);
  }
  std::stable_sort(others.begin(), others.end(), [](const StoredCandidate* a, const StoredCandidate* b) {
    return a->result->measurement().latency_us() < b->result->measurement().latency_us();
  });
  const uint32_t asked = std::max(1u, facts.job.options().strategy().parents());
  std::vector<const StoredCandidate*> parents = {&incumbent};
  for (const StoredCandidate* other : others) {
    if (parents.size() < std::min<size_t>(asked, kParentsMax)) parents.push_back(other);
  }
  return parents;
}

void SuggestDirections(const JobFacts& facts, int round, std::vector<PlannedPrompt>* planned) {
  const uint64_t first = DeriveSeed(facts.job.options().seed(), fmt::format("directions of round {}", round));
  for (size_t slot = 1; slot < planned->size(); ++slot) {
    PlannedPrompt& prompt = (*planned)[slot];
    if (prompt.branch != v1::PERFORMANCE) continue;
    const v1::Measurement& measured = FindCandidate(facts, prompt.parent_candidate)->result->measurement();
    const std::vector<std::string> directions =
        DirectionsFor(measured.limited_by(), facts.baseline->measurement().device());
    prompt.hint = directions[(first % directions.size() + slot - 1) % directions.size()];
  }
}

std::vector<PlannedPrompt> PlanImprovements(const JobFacts& facts, const StoredCandidate& incumbent, int last_round,
                                            size_t count) {
  std::vector<PlannedPrompt> repairs;
  const double share = facts.job.options().strategy().repair_share();
  const auto repair_count = static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(count)));
  for (const StoredCandidate* failed : NearMisses(facts, last_round)) {
    if (repairs.size() < repair_count) repairs.push_back(Repair(*failed));
  }
  const std::vector<const StoredCandidate*> parents = Parents(facts, incumbent);
  std::vector<PlannedPrompt> planned;
  while (planned.size() < count - repairs.size()) {
    planned.push_back(Continuing(v1::PERFORMANCE, *parents[planned.size() % parents.size()]));
  }
  planned.insert(planned.end(), repairs.begin(), repairs.end());
  return planned;
}

void SpreadTemperatures(const v1::SearchStrategy& strategy, std::vector<PlannedPrompt>* planned) {
  const double low = strategy.temperature_low(), high = strategy.temperature_high();
  if (low == 0 && high == 0) return;
  const auto steps = static_cast<double>(std::max<size_t>(planned->size(), 2) - 1);
  for (size_t slot = 0; slot < planned->size(); ++slot) {
    (*planned)[slot].temperature = low + (high - low) * static_cast<double>(slot) / steps;
  }
}

}  // namespace

std::vector<PlannedPrompt> PlanRound(const JobFacts& facts, int last_round) {
  const v1::SearchStrategy& strategy = facts.job.options().strategy();
  const size_t count = CandidatesPerRound(facts.job);
  std::vector<PlannedPrompt> planned;
  if (const StoredCandidate* incumbent = FindCandidate(facts, facts.incumbent)) {
    planned = PlanImprovements(facts, *incumbent, last_round, count);
    if (!strategy.no_hints()) SuggestDirections(facts, last_round + 1, &planned);
  } else {
    planned =
        strategy.merge_failures() ? PlanMergedRepairs(facts, last_round, count) : PlanRepairs(facts, last_round, count);
  }
  SpreadTemperatures(strategy, &planned);
  return planned;
}

int CountedRounds(const JobFacts& facts, int round) {
  if (!facts.job.options().strategy().free_repair_rounds()) return round;
  int before_right = round;
  for (const StoredCandidate& candidate : facts.candidates) {
    if (candidate.evaluation == 0 || !candidate.result || !IsRight(*candidate.result)) continue;
    before_right = std::min(before_right, candidate.round - 1);
  }
  return round - std::min(before_right, kFreeRepairRoundsMax);
}

}  // namespace fsr
