// Whole jobs against a world that finishes evaluations late and in any order, kills the coordinator in the middle of a
// decision, and answers at random. FakeWorld throws where something is done twice, too early or without a cause.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "server/search/plan_round.h"
#include "tests/server/search/made_facts.h"

namespace fsr {
namespace {

using testing::CreatedAt;
using testing::FactsWithBaseline;
using testing::FakeWorld;

// Mostly failures at first, then kernels of any speed with any verdict.
v1::Evaluation RandomResult(SplitMix64& random, const JobFacts& facts) {
  if (random.Below(3) != 0) return testing::Failed(static_cast<v1::Outcome>(2 + random.Below(7)));
  const double latency_us = 10 + 100 * random.Uniform();
  if (facts.incumbent == 0 || random.Below(4) == 0) return testing::Measured(latency_us, random.Below(8) == 0);
  return testing::MeasuredAgainst(latency_us, static_cast<v1::Verdict>(random.Below(5)), 2 * random.Uniform());
}

void RunToEnd(FakeWorld& world, absl::Time now) {
  for (int step = 0; step < 20'000 && !world.ended(); ++step) {
    now += absl::Milliseconds(100);
    world.Step(now);
  }
  REQUIRE(world.ended());
}

TEST_CASE("any history of a job reaches its end, with nothing done twice") {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    SplitMix64 random(seed);
    JobFacts facts =
        FactsWithBaseline(1 + static_cast<uint32_t>(random.Below(5)), 1 + static_cast<uint32_t>(random.Below(8)));
    facts.baseline_evaluation = 0;
    facts.baseline.reset();
    v1::JobOptions* options = facts.job.mutable_options();
    if (random.Below(3) == 0) options->set_patience_rounds(2);
    if (random.Below(3) == 0) options->set_target_speedup(4);
    if (random.Below(3) == 0) options->set_wall_seconds_max(1 + 10 * random.Uniform());
    FakeWorld world(std::move(facts), seed, RandomResult);
    if (random.Below(3) == 0) world.set_prompts_until_exhausted(static_cast<int>(random.Below(12)));
    REQUIRE_NOTHROW(RunToEnd(world, CreatedAt()));
    CHECK(world.end().state == v1::Job::FINISHED);
    CHECK(world.facts().prompts.back().round <= static_cast<int>(world.facts().job.options().round_count_max()));
  }
}

void DrawStrategy(SplitMix64& random, v1::SearchStrategy* strategy) {
  if (random.Below(2) == 0) strategy->set_repair_share(random.Uniform());
  if (random.Below(2) == 0) strategy->set_parents(static_cast<uint32_t>(random.Below(5)));
  strategy->set_merge_failures(random.Below(3) == 0);
  strategy->set_free_repair_rounds(random.Below(3) == 0);
  strategy->set_final_round_only(random.Below(3) == 0);
  strategy->set_no_hints(random.Below(2) == 0);
  if (random.Below(2) == 0) {
    strategy->set_temperature_low(random.Uniform());
    strategy->set_temperature_high(strategy->temperature_low() + random.Uniform());
  }
}

// What the prompts of `round` must be, whatever was drawn.
void CheckRound(const JobFacts& facts, int round) {
  const v1::SearchStrategy& strategy = facts.job.options().strategy();
  const auto count = static_cast<int>(facts.job.options().candidates_per_round());
  int prompt_count = 0, repair_count = 0;
  std::set<int> parents;
  for (const StoredPrompt& prompt : facts.prompts) {
    if (prompt.round != round) continue;
    ++prompt_count;
    CHECK(prompt.temperature.has_value() == (strategy.temperature_high() > 0));
    if (prompt.temperature) {
      CHECK(*prompt.temperature >= strategy.temperature_low());
      CHECK(*prompt.temperature <= strategy.temperature_high() + 1e-12);
    }
    const StoredCandidate* parent = FindCandidate(facts, prompt.parent_candidate);
    if (prompt.branch == v1::TASK) continue;
    REQUIRE(parent != nullptr);
    CHECK(parent->round < round);
    CHECK(parent->duplicate_of == 0);
    CHECK(parent->dialogue == prompt.dialogue);
    if (prompt.branch == v1::PERFORMANCE) {
      CHECK(IsRight(*parent->result));
      parents.insert(parent->number);
    } else {
      CHECK_FALSE(IsRight(*parent->result));
      CHECK(parent->round == round - 1);
      ++repair_count;
    }
  }
  CHECK(prompt_count == count);
  CHECK(parents.size() <= std::max(1u, strategy.parents()));
  if (!parents.empty()) CHECK(repair_count <= std::lround(strategy.repair_share() * count));
}

TEST_CASE(
    "whatever the strategy, a job ends, each round has N prompts, and each comes from a candidate it may come from") {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    SplitMix64 random(seed);
    JobFacts facts =
        FactsWithBaseline(1 + static_cast<uint32_t>(random.Below(6)), 1 + static_cast<uint32_t>(random.Below(8)));
    facts.job.mutable_options()->set_seed(seed);
    DrawStrategy(random, facts.job.mutable_options()->mutable_strategy());
    const uint64_t failures_in_4 = random.Below(5);  // 4: nothing is ever right
    FakeWorld world(std::move(facts), seed, [failures_in_4](SplitMix64& draw, const JobFacts& at) {
      if (draw.Below(4) < failures_in_4) return testing::Failed(static_cast<v1::Outcome>(2 + draw.Below(7)));
      return RandomResult(draw, at);
    });
    REQUIRE_NOTHROW(RunToEnd(world, CreatedAt()));
    const JobFacts& after = world.facts();
    const int last = after.prompts.back().round;
    for (int round = 1; round <= last; ++round) CheckRound(after, round);
    CHECK(CountedRounds(after, last) == static_cast<int>(after.job.options().round_count_max()));
    CHECK(last <= static_cast<int>(after.job.options().round_count_max()) + kFreeRepairRoundsMax);
  }
}

TEST_CASE("the incumbents of a job on a simulator are faster and faster, and the last is the fastest of all") {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    FakeWorld world(FactsWithBaseline(4, 6), seed, [](SplitMix64& random, const JobFacts&) {
      if (random.Below(2) == 0) return testing::Failed(v1::MISMATCH);
      return testing::Measured(1 + 100 * random.Uniform(), /*estimated=*/true);
    });
    const_cast<JobFacts&>(world.facts()).baseline->mutable_measurement()->set_estimated(true);
    REQUIRE_NOTHROW(RunToEnd(world, CreatedAt()));
    double fastest_us = 1e9, last_us = 1e9;
    for (const StoredCandidate& candidate : world.facts().candidates) {
      if (!IsRight(*candidate.result)) continue;
      fastest_us = std::min(fastest_us, candidate.result->measurement().latency_us());
      if (!candidate.was_incumbent) continue;
      CHECK(candidate.result->measurement().latency_us() < last_us);
      last_us = candidate.result->measurement().latency_us();
    }
    CHECK(last_us == fastest_us);
    CHECK(world.facts().candidates.size() == 24);
  }
}

TEST_CASE("a prompt after a failure always comes from a failure of the round before") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    FakeWorld world(FactsWithBaseline(4, 5), seed, [](SplitMix64& random, const JobFacts&) {
      return testing::Failed(static_cast<v1::Outcome>(2 + random.Below(7)));
    });
    REQUIRE_NOTHROW(RunToEnd(world, CreatedAt()));
    CHECK(world.promotion_count() == 0);
    for (const StoredPrompt& prompt : world.facts().prompts) {
      CHECK(prompt.branch != v1::PERFORMANCE);
      if (prompt.parent_candidate == 0) continue;
      const StoredCandidate* parent = FindCandidate(world.facts(), prompt.parent_candidate);
      REQUIRE(parent != nullptr);
      CHECK(parent->round == prompt.round - 1);
      CHECK(parent->dialogue == prompt.dialogue);
    }
  }
}

}  // namespace
}  // namespace fsr
