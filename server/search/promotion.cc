#include "server/search/promotion.h"

#include <algorithm>
#include <vector>

namespace fsr {
namespace {

enum class Standing { kFaster, kNotFaster, kAmbiguous };

const v1::Comparison* AgainstIncumbent(const v1::Evaluation& evaluation) {
  for (const v1::Comparison& comparison : evaluation.comparisons()) {
    if (comparison.against() == v1::Comparison::INCUMBENT && comparison.verdict() != v1::VERDICT_UNSPECIFIED) {
      return &comparison;
    }
  }
  return nullptr;
}

Standing StandingOf(const v1::Evaluation& candidate, const v1::Evaluation& incumbent) {
  if (!IsRight(candidate)) return Standing::kNotFaster;
  const v1::Measurement& measured = candidate.measurement();
  if (measured.estimated() != incumbent.measurement().estimated()) return Standing::kNotFaster;
  const v1::Comparison* comparison = AgainstIncumbent(candidate);
  if (measured.estimated() || comparison == nullptr) {
    return measured.latency_us() < incumbent.measurement().latency_us() ? Standing::kFaster : Standing::kNotFaster;
  }
  switch (comparison->verdict()) {
    case v1::FASTER:
      return Standing::kFaster;
    case v1::AMBIGUOUS:
      // One that looks slower is not worth a second look.
      return comparison->ratio() > 0 && comparison->ratio() <= 1 ? Standing::kNotFaster : Standing::kAmbiguous;
    default:
      return Standing::kNotFaster;
  }
}

// The right candidates with an evaluation of their own, fastest first. A duplicate of an earlier one has lost already,
// and a copy of the baseline is nothing new.
std::vector<const StoredCandidate*> RightOnes(const JobFacts& facts, int round) {
  std::vector<const StoredCandidate*> right;
  for (const StoredCandidate& candidate : facts.candidates) {
    if (candidate.round == round && candidate.duplicate_of == 0 && candidate.evaluation != 0 && candidate.result &&
        IsRight(*candidate.result)) {
      right.push_back(&candidate);
    }
  }
  std::stable_sort(right.begin(), right.end(), [](const StoredCandidate* a, const StoredCandidate* b) {
    return a->result->measurement().latency_us() < b->result->measurement().latency_us();
  });
  return right;
}

}  // namespace

std::optional<Decision> DecidePromotion(const JobFacts& facts, int round, bool may_wait) {
  const StoredCandidate* incumbent = FindCandidate(facts, facts.incumbent);
  // Verdicts of this round are against the incumbent that the round began with.
  if (incumbent != nullptr && incumbent->round == round) return std::nullopt;

  const bool round_alone = facts.job.options().strategy().final_round_only();
  int remeasured_count = 0;
  for (const StoredCandidate* candidate : RightOnes(facts, round)) {
    if (incumbent == nullptr || round_alone) return decision::Promote{candidate->number};
    Standing standing = StandingOf(*candidate->result, *incumbent->result);
    if (standing == Standing::kAmbiguous) {
      if (++remeasured_count > kRemeasuredPerRoundMax) continue;
      const auto again = facts.remeasured.find(candidate->number);
      if (again == facts.remeasured.end()) {
        if (may_wait) return decision::Remeasure{candidate->number};
        continue;
      }
      if (!again->second) {
        if (may_wait) return decision::Wait{};
        continue;
      }
      standing = StandingOf(*again->second, *incumbent->result);
    }
    if (standing == Standing::kFaster) return decision::Promote{candidate->number};
  }
  return std::nullopt;
}

}  // namespace fsr
