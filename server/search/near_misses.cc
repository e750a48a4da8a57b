#include "server/search/near_misses.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "server/search/decide.h"

namespace fsr {
namespace {

constexpr int kHopeless = 4;

int RankOf(v1::Outcome outcome) {
  switch (outcome) {
    case v1::MISMATCH:
      return 0;
    case v1::RUNTIME_FAULT:
    case v1::LAUNCH_ERROR:
    case v1::TIMEOUT:
      return 1;
    case v1::COMPILE_ERROR:
      return 2;
    case v1::REJECTED:
      return 3;
    default:
      return kHopeless;
  }
}

// 0 to 1, a right case counting as 0; a failure without figures is all wrong.
double WrongShare(const v1::Evaluation& result) {
  if (result.outcome() != v1::MISMATCH) return 1;
  double sum = 0;
  int count = 0;
  for (const v1::CaseResult& one : result.cases()) {
    if (one.outcome() == v1::OUTCOME_UNSPECIFIED) continue;
    double worst = one.outcome() == v1::MEASURED || !one.mismatches().empty() ? 0 : 1;
    for (const v1::Mismatch& mismatch : one.mismatches()) {
      const auto all = static_cast<double>(std::max<uint64_t>(mismatch.element_count(), 1));
      worst = std::max(worst, std::min(1.0, static_cast<double>(mismatch.wrong_count()) / all));
    }
    sum += worst;
    ++count;
  }
  return count == 0 ? 1 : sum / count;
}

// Of the nearest right kernel that it was made from; infinite where there is none.
double AncestorLatencyUs(const JobFacts& facts, const StoredCandidate& candidate) {
  for (const StoredCandidate* at = &candidate; at != nullptr; at = FindCandidate(facts, at->parent_candidate)) {
    if (at->result && IsRight(*at->result)) return at->result->measurement().latency_us();
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

int RepairsInARow(const JobFacts& facts, const StoredCandidate& candidate) {
  int count = 0;
  const StoredCandidate* parent = FindCandidate(facts, candidate.parent_candidate);
  for (; parent != nullptr && parent->result && !IsRight(*parent->result);
       parent = FindCandidate(facts, parent->parent_candidate)) {
    ++count;
  }
  return count;
}

std::vector<const StoredCandidate*> NearMisses(const JobFacts& facts, int round) {
  using Key = std::tuple<int, double, int, double, int>;
  std::vector<std::pair<Key, const StoredCandidate*>> keyed;
  for (const StoredCandidate& candidate : facts.candidates) {
    if (candidate.round != round || candidate.duplicate_of != 0 || !candidate.result) continue;
    const int rank = RankOf(candidate.result->outcome());
    const int repairs = RepairsInARow(facts, candidate);
    if (rank == kHopeless || repairs >= kRepairsInARowMax) continue;
    keyed.push_back(
        {{rank, WrongShare(*candidate.result), repairs, AncestorLatencyUs(facts, candidate), candidate.number},
         &candidate});
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<const StoredCandidate*> nearest;
  for (const auto& [key, candidate] : keyed) nearest.push_back(candidate);
  return nearest;
}

}  // namespace fsr
