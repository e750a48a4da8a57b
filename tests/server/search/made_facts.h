// Facts made by hand, and a small world that does what Decide says, as a store would.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/random.h"
#include "server/search/decide.h"

namespace fsr::testing {

v1::Evaluation Failed(v1::Outcome outcome);
v1::Evaluation Measured(double latency_us, bool estimated = false);
// Measured on a device, with a verdict against the incumbent.
v1::Evaluation MeasuredAgainst(double latency_us, v1::Verdict verdict, double ratio = 0);

// A running job whose baseline takes 100 us.
JobFacts FactsWithBaseline(uint32_t candidates_per_round, uint32_t round_count_max = 100);

inline absl::Time CreatedAt() { return absl::FromUnixSeconds(1'800'000'000); }

// Begins `round` with one TASK prompt and one evaluated candidate for each of `results`, each its own dialogue.
void AddRound(JobFacts* facts, int round, const std::vector<v1::Evaluation>& results);

// Applies decisions to facts and throws std::logic_error where one would be done twice or makes no sense.
class FakeWorld {
 public:
  // What a candidate's evaluation gives, from the state of the world's random numbers.
  using Judge = std::function<v1::Evaluation(SplitMix64&, const JobFacts&)>;
  FakeWorld(JobFacts facts, uint64_t seed, Judge judge)
      : facts_(std::move(facts)), random_(seed), judge_(std::move(judge)) {}

  const JobFacts& facts() const { return facts_; }
  bool ended() const { return ended_; }
  const decision::End& end() const { return end_; }
  int promotion_count() const { return promotion_count_; }
  void set_prompts_until_exhausted(int count) { answers_left_ = count; }

  // One decision, done whole or (where it has parts) in part, as if the coordinator was killed in between; then
  // perhaps an evaluation finishes.
  void Step(absl::Time now);

 private:
  void Do(const decision::EvaluateBaseline&);
  void Do(const decision::StartRound& start);
  void Do(const decision::Ask& ask);
  void Do(const decision::MakeCandidates& make);
  void Do(const decision::Remeasure& remeasure);
  void Do(const decision::Promote& promote);
  void Do(const decision::End& end);
  void Do(const decision::Wait&);
  bool FinishOne();
  size_t PartOf(size_t count) { return random_.Below(4) == 0 ? random_.Below(count + 1) : count; }

  JobFacts facts_;
  SplitMix64 random_;
  Judge judge_;
  bool exhausted_ = false;
  int answers_left_ = 1 << 30;
  bool ended_ = false;
  decision::End end_;
  int promotion_count_ = 0;
  std::set<int> promoted_rounds_;
};

}  // namespace fsr::testing
