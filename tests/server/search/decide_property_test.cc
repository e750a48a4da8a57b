// Whole jobs against a world that finishes evaluations late and in any order, kills the coordinator in the middle of a
// decision, and answers at random. FakeWorld throws where something is done twice, too early or without a cause.
#include <catch2/catch.hpp>

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
