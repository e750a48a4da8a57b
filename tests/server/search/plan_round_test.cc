#include "server/search/plan_round.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "server/search/directions.h"
#include "server/search/near_misses.h"
#include "tests/server/search/made_facts.h"

namespace fsr {
namespace {

using testing::AddRound;
using testing::FactsWithBaseline;
using testing::Failed;
using testing::Measured;

// `wrong` of 100 elements differ in the first of `case_count` cases; the others are right.
v1::Evaluation Mismatched(uint64_t wrong, int case_count = 1) {
  v1::Evaluation evaluation = Failed(v1::MISMATCH);
  for (int i = 0; i < case_count; ++i) {
    v1::CaseResult* one = evaluation.add_cases();
    one->set_outcome(i == 0 ? v1::MISMATCH : v1::MEASURED);
    if (i > 0) continue;
    v1::Mismatch* mismatch = one->add_mismatches();
    mismatch->set_element_count(100);
    mismatch->set_wrong_count(wrong);
  }
  return evaluation;
}

v1::SearchStrategy* Strategy(JobFacts& facts) { return facts.job.mutable_options()->mutable_strategy(); }

std::vector<int> ParentsOf(const std::vector<PlannedPrompt>& planned) {
  std::vector<int> parents;
  for (const PlannedPrompt& prompt : planned) parents.push_back(prompt.parent_candidate);
  return parents;
}

std::vector<int> NumbersOf(const std::vector<const StoredCandidate*>& candidates) {
  std::vector<int> numbers;
  for (const StoredCandidate* candidate : candidates) numbers.push_back(candidate->number);
  return numbers;
}

// Round 1 gave 50, 40, 60 us and failures; 2, the fastest, is the incumbent.
JobFacts WithThreeRight(uint32_t candidates_per_round) {
  JobFacts facts = FactsWithBaseline(candidates_per_round);
  AddRound(&facts, 1,
           {Measured(50), Measured(40), Measured(60), Failed(v1::COMPILE_ERROR), Mismatched(90), Mismatched(3),
            Failed(v1::RUNTIME_FAULT), Failed(v1::UNSUPPORTED)});
  facts.incumbent = 2;
  facts.candidates[1].was_incumbent = true;
  return facts;
}

TEST_CASE("the nearest miss is the mismatch with the fewest wrong elements, then faults, then what does not compile") {
  JobFacts facts = FactsWithBaseline(8);
  AddRound(&facts, 1,
           {Failed(v1::COMPILE_ERROR), Failed(v1::REJECTED), Mismatched(90), Failed(v1::UNSUPPORTED),
            Failed(v1::TIMEOUT), Mismatched(3), Measured(10), Mismatched(90, /*case_count=*/3)});
  CHECK(NumbersOf(NearMisses(facts, 1)) == std::vector<int>{6, 8, 3, 5, 1, 2});
  facts.candidates[5].duplicate_of = 3;
  CHECK(NumbersOf(NearMisses(facts, 1)) == std::vector<int>{8, 3, 5, 1, 2});
}

TEST_CASE("of equal failures the one mended less often comes first, then the one from the faster kernel") {
  JobFacts facts = FactsWithBaseline(4);
  AddRound(&facts, 1, {Measured(50), Measured(20), Failed(v1::TIMEOUT)});
  AddRound(&facts, 2, {Failed(v1::TIMEOUT), Failed(v1::TIMEOUT), Failed(v1::TIMEOUT)});
  facts.candidates[3].parent_candidate = 3;
  facts.candidates[4].parent_candidate = 1;
  facts.candidates[5].parent_candidate = 2;
  CHECK(NumbersOf(NearMisses(facts, 2)) == std::vector<int>{6, 5, 4});
}

TEST_CASE("a lineage is mended so often in a row and then given up") {
  JobFacts facts = FactsWithBaseline(1);
  AddRound(&facts, 1, {Measured(50)});
  for (int repairs = 0; repairs <= kRepairsInARowMax; ++repairs) {
    AddRound(&facts, 2 + repairs, {Mismatched(1)});
    facts.candidates.back().parent_candidate = facts.candidates.back().number - 1;
    CHECK(RepairsInARow(facts, facts.candidates.back()) == repairs);
    CHECK(NearMisses(facts, 2 + repairs).size() == (repairs < kRepairsInARowMax ? 1 : 0));
  }
}

TEST_CASE("repair_share gives the last slots to near misses, and what they do not need to performance") {
  JobFacts facts = WithThreeRight(8);
  Strategy(facts)->set_repair_share(0.25);
  const std::vector<PlannedPrompt> planned = PlanRound(facts, 1);
  CHECK(ParentsOf(planned) == std::vector<int>{2, 2, 2, 2, 2, 2, 6, 5});
  CHECK(planned[5].branch == v1::PERFORMANCE);
  CHECK(planned[6].branch == v1::MISMATCH_FAILURE);
  CHECK(planned[6].dialogue == facts.candidates[5].dialogue);

  Strategy(facts)->set_repair_share(1);  // more slots than near misses: 6, 5, 7, 4
  CHECK(ParentsOf(PlanRound(facts, 1)) == std::vector<int>{2, 2, 2, 2, 6, 5, 7, 4});
  Strategy(facts)->set_repair_share(0.05);  // rounds to none of 8
  CHECK(ParentsOf(PlanRound(facts, 1)) == std::vector<int>(8, 2));
  AddRound(&facts, 2, std::vector(8, Measured(70)));
  Strategy(facts)->set_repair_share(1);  // the round before had no failure
  CHECK(ParentsOf(PlanRound(facts, 2)) == std::vector<int>(8, 2));
}

TEST_CASE("parents are the best right kernels in turn, the incumbent first") {
  JobFacts facts = WithThreeRight(5);
  Strategy(facts)->set_parents(2);
  CHECK(ParentsOf(PlanRound(facts, 1)) == std::vector<int>{2, 1, 2, 1, 2});
  Strategy(facts)->set_parents(9);
  CHECK(ParentsOf(PlanRound(facts, 1)) == std::vector<int>{2, 1, 3, 2, 1});
  facts.candidates[0].duplicate_of = 2;                                    // the same kernel again
  facts.candidates[2].result->mutable_measurement()->set_estimated(true);  // a time of another kind
  CHECK(ParentsOf(PlanRound(facts, 1)) == std::vector<int>(5, 2));
}

TEST_CASE("the incumbent stays the first parent even where another's time of another moment was lower") {
  JobFacts facts = WithThreeRight(3);
  Strategy(facts)->set_parents(2);
  facts.incumbent = 1;
  CHECK(ParentsOf(PlanRound(facts, 1)) == std::vector<int>{1, 2, 1});
}

TEST_CASE("at most so many parents take turns") {
  JobFacts facts = FactsWithBaseline(kParentsMax + 4);
  std::vector<v1::Evaluation> results;
  for (int i = 0; i < kParentsMax + 4; ++i) results.push_back(Measured(10 + i));
  AddRound(&facts, 1, results);
  facts.incumbent = 1;
  Strategy(facts)->set_parents(kParentsMax + 1);
  const std::vector<int> parents = ParentsOf(PlanRound(facts, 1));
  CHECK(std::set<int>(parents.begin(), parents.end()).size() == kParentsMax);
}

TEST_CASE("merged failures make one prompt N times: about the nearest miss, with the others") {
  JobFacts facts = FactsWithBaseline(3);
  AddRound(&facts, 1, {Failed(v1::COMPILE_ERROR), Failed(v1::UNSUPPORTED), Mismatched(3)});
  Strategy(facts)->set_merge_failures(true);
  const std::vector<PlannedPrompt> planned = PlanRound(facts, 1);
  REQUIRE(planned.size() == 3);
  CHECK(planned[0].branch == v1::MISMATCH_FAILURE);
  CHECK(planned[0].parent_candidate == 3);
  CHECK(planned[0].other_failures == std::vector<int>{1, 2});
  CHECK(planned[1] == planned[0]);
  CHECK(planned[2] == planned[0]);
  CHECK(PlanRound(FactsWithBaseline(3), 0) == std::vector<PlannedPrompt>(3));  // the first round has no failures
}

TEST_CASE("a merged prompt shows at most so many other failures") {
  JobFacts facts = FactsWithBaseline(kMergedFailuresMax + 3);
  AddRound(&facts, 1, std::vector(kMergedFailuresMax + 3, Failed(v1::TIMEOUT)));
  Strategy(facts)->set_merge_failures(true);
  CHECK(PlanRound(facts, 1)[0].other_failures.size() == kMergedFailuresMax);
}

TEST_CASE("temperatures rise evenly over the slots of every round") {
  JobFacts facts = FactsWithBaseline(5);
  Strategy(facts)->set_temperature_low(0.2);
  Strategy(facts)->set_temperature_high(1.0);
  const std::vector<PlannedPrompt> planned = PlanRound(facts, 0);
  const double expected[] = {0.2, 0.4, 0.6, 0.8, 1.0};
  for (size_t slot = 0; slot < 5; ++slot) CHECK(*planned[slot].temperature == Approx(expected[slot]));
  facts.job.mutable_options()->set_candidates_per_round(1);
  CHECK(*PlanRound(facts, 0)[0].temperature == 0.2);
  Strategy(facts)->set_temperature_low(0);
  CHECK(*PlanRound(facts, 0)[0].temperature == 0);
  Strategy(facts)->set_temperature_high(0);
  CHECK_FALSE(PlanRound(facts, 0)[0].temperature.has_value());
}

TEST_CASE("each performance prompt but the first suggests another direction, the same for the same seed and round") {
  JobFacts facts = WithThreeRight(5);
  facts.job.mutable_options()->set_seed(7);
  facts.candidates[1].result->mutable_measurement()->set_limited_by("memory");
  const std::vector<PlannedPrompt> planned = PlanRound(facts, 1);
  CHECK(planned[0].hint.empty());
  const std::vector<std::string> known = DirectionsFor("memory", facts.baseline->measurement().device());
  std::set<std::string> hints;
  for (size_t slot = 1; slot < 5; ++slot) {
    CHECK(std::find(known.begin(), known.end(), planned[slot].hint) != known.end());
    hints.insert(planned[slot].hint);
  }
  CHECK(hints.size() == 4);
  CHECK(PlanRound(facts, 1) == planned);
  Strategy(facts)->set_no_hints(true);
  for (const PlannedPrompt& prompt : PlanRound(facts, 1)) CHECK(prompt.hint.empty());
}

TEST_CASE("the directions of a round begin elsewhere for another round or another seed") {
  std::set<std::string> second_slots;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    JobFacts facts = WithThreeRight(2);
    facts.job.mutable_options()->set_seed(seed);
    second_slots.insert(PlanRound(facts, 1)[1].hint);
  }
  CHECK(second_slots.size() > 1);
}

TEST_CASE("a direction that the device is too old for is not suggested") {
  const auto mentions = [](const std::vector<std::string>& directions, const std::string& what) {
    return std::any_of(directions.begin(), directions.end(),
                       [&](const std::string& one) { return one.find(what) != std::string::npos; });
  };
  v1::DeviceFacts turing, hopper;
  turing.set_compute_capability_major(7);
  turing.set_compute_capability_minor(5);
  hopper.set_compute_capability_major(9);
  CHECK(mentions(DirectionsFor("compute", turing), "mma.sync"));
  CHECK_FALSE(mentions(DirectionsFor("compute", turing), "wgmma"));
  CHECK(mentions(DirectionsFor("compute", hopper), "wgmma"));
  CHECK(mentions(DirectionsFor("memory", hopper), "TMA"));
  CHECK_FALSE(DirectionsFor("", v1::DeviceFacts()).empty());
}

TEST_CASE("free rounds before anything is right do not count, up to their limit") {
  JobFacts facts = FactsWithBaseline(1);
  for (int round = 1; round <= 5; ++round) AddRound(&facts, round, {Failed(v1::MISMATCH)});
  CHECK(CountedRounds(facts, 5) == 5);
  Strategy(facts)->set_free_repair_rounds(true);
  CHECK(CountedRounds(facts, 5) == 0);
  AddRound(&facts, 6, {Measured(50)});
  AddRound(&facts, 7, {Failed(v1::MISMATCH)});
  CHECK(CountedRounds(facts, 6) == 1);
  CHECK(CountedRounds(facts, 7) == 2);

  JobFacts never = FactsWithBaseline(1, /*round_count_max=*/2);
  Strategy(never)->set_free_repair_rounds(true);
  for (int round = 1; round <= kFreeRepairRoundsMax + 2; ++round) {
    CHECK(std::holds_alternative<decision::StartRound>(Decide(never, testing::CreatedAt(), false)));
    AddRound(&never, round, {Failed(v1::MISMATCH)});
  }
  const Decision last = Decide(never, testing::CreatedAt(), false);
  REQUIRE(std::holds_alternative<decision::End>(last));
  CHECK_THAT(std::get<decision::End>(last).reason, Catch::Contains("All 2 rounds") && Catch::Contains("after 32"));
}

TEST_CASE("with final_round_only a round's fastest becomes the incumbent even if it is slower than the one before") {
  JobFacts facts = WithThreeRight(2);
  AddRound(&facts, 2, {Measured(90), Measured(80)});
  CHECK(std::holds_alternative<decision::StartRound>(Decide(facts, testing::CreatedAt(), false)));
  Strategy(facts)->set_final_round_only(true);
  const Decision decided = Decide(facts, testing::CreatedAt(), false);
  REQUIRE(std::holds_alternative<decision::Promote>(decided));
  CHECK(std::get<decision::Promote>(decided).candidate == 10);
  facts.incumbent = 10;
  AddRound(&facts, 3, {Failed(v1::MISMATCH), Failed(v1::TIMEOUT)});  // a round with nothing right changes nothing
  CHECK(std::holds_alternative<decision::StartRound>(Decide(facts, testing::CreatedAt(), false)));
}

}  // namespace
}  // namespace fsr
