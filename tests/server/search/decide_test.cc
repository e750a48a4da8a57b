#include "server/search/decide.h"

#include <catch2/catch.hpp>

#include "tests/server/search/made_facts.h"

namespace fsr {
namespace {

using testing::AddRound;
using testing::CreatedAt;
using testing::FactsWithBaseline;
using testing::Failed;
using testing::Measured;
using testing::MeasuredAgainst;

Decision DecideNow(const JobFacts& facts, bool exhausted = false) {
  return Decide(facts, CreatedAt() + absl::Seconds(1), exhausted);
}

template <typename T>
T As(const Decision& decided) {
  INFO("decision number " << decided.index());
  REQUIRE(std::holds_alternative<T>(decided));
  return std::get<T>(decided);
}

// Round 1 promoted candidate 1 with 50 us; round 2 has these results.
JobFacts SecondRound(const std::vector<v1::Evaluation>& results) {
  JobFacts facts = FactsWithBaseline(2);
  AddRound(&facts, 1, {Measured(50), Failed(v1::MISMATCH)});
  facts.incumbent = 1;
  facts.candidates[0].was_incumbent = true;
  AddRound(&facts, 2, results);
  return facts;
}

TEST_CASE("the baseline is evaluated first, once") {
  JobFacts facts = FactsWithBaseline(2);
  facts.baseline.reset();
  facts.baseline_evaluation = 0;
  As<decision::EvaluateBaseline>(DecideNow(facts));
  facts.baseline_evaluation = 7;
  As<decision::Wait>(DecideNow(facts));
}

TEST_CASE("a job whose baseline is not right fails and says what to correct") {
  JobFacts facts = FactsWithBaseline(2);
  facts.baseline = Failed(v1::MISMATCH);
  facts.baseline->set_diagnosis("3 of 9 elements are wrong.");
  const auto end = As<decision::End>(DecideNow(facts));
  CHECK(end.state == v1::Job::FAILED);
  CHECK_THAT(end.reason, Catch::Contains("transpose") && Catch::Contains("MISMATCH") &&
                             Catch::Contains("3 of 9 elements") && Catch::Contains("baseline.cu"));
  facts.baseline = Failed(v1::UNSUPPORTED);
  CHECK_THAT(As<decision::End>(DecideNow(facts)).reason, Catch::Contains("kind of device"));
  facts.baseline = Measured(0);
  CHECK(As<decision::End>(DecideNow(facts)).state == v1::Job::FAILED);
}

TEST_CASE("the first round is N task prompts, each a dialogue of its own") {
  const auto start = As<decision::StartRound>(DecideNow(FactsWithBaseline(3)));
  CHECK(start.round == 1);
  REQUIRE(start.prompts.size() == 3);
  for (const PlannedPrompt& prompt : start.prompts) {
    CHECK(prompt.branch == v1::TASK);
    CHECK(prompt.dialogue == 0);
    CHECK(prompt.parent_candidate == 0);
  }
}

TEST_CASE("zero options mean the documented defaults") {
  JobFacts facts = FactsWithBaseline(0, 0);
  CHECK(As<decision::StartRound>(DecideNow(facts)).prompts.size() == 8);
  for (int round = 1; round <= 8; ++round) AddRound(&facts, round, std::vector(8, Failed(v1::TIMEOUT)));
  CHECK_THAT(As<decision::End>(DecideNow(facts)).reason, Catch::Contains("All 8 rounds"));
}

TEST_CASE("answers become candidates before more answers are asked for") {
  JobFacts facts = FactsWithBaseline(3);
  AddRound(&facts, 1, {Failed(v1::MISMATCH), Failed(v1::MISMATCH), Failed(v1::MISMATCH)});
  facts.candidates.clear();
  for (StoredPrompt& prompt : facts.prompts) prompt.candidate = 0;
  facts.prompts[1].completion.reset();
  CHECK(As<decision::MakeCandidates>(DecideNow(facts)).prompts == std::vector<int>{1, 3});
  facts.prompts[0].candidate = 1;
  facts.prompts[2].candidate = 2;
  CHECK(As<decision::Ask>(DecideNow(facts)).prompts == std::vector<int>{2});
}

TEST_CASE("a round waits for every result before anything is promoted") {
  JobFacts facts = FactsWithBaseline(2);
  AddRound(&facts, 1, {Measured(50), Measured(40)});
  facts.candidates[1].result.reset();
  As<decision::Wait>(DecideNow(facts));
  facts.candidates[1].result = Measured(40);
  CHECK(As<decision::Promote>(DecideNow(facts)).candidate == 2);
}

TEST_CASE("while nothing was right, each failure gets the prompt of its own kind in its own dialogue") {
  JobFacts facts = FactsWithBaseline(7);
  AddRound(&facts, 1,
           {Failed(v1::COMPILE_ERROR), Failed(v1::LAUNCH_ERROR), Failed(v1::RUNTIME_FAULT), Failed(v1::TIMEOUT),
            Failed(v1::MISMATCH), Failed(v1::REJECTED), Failed(v1::UNSUPPORTED)});
  const auto start = As<decision::StartRound>(DecideNow(facts));
  CHECK(start.round == 2);
  const std::vector<v1::Branch> expected = {v1::COMPILE_FAILURE, v1::RUN_FAILURE,      v1::RUN_FAILURE,
                                            v1::RUN_FAILURE,     v1::MISMATCH_FAILURE, v1::REJECTED_FAILURE,
                                            v1::RUN_FAILURE};
  REQUIRE(start.prompts.size() == 7);
  for (size_t i = 0; i < 7; ++i) {
    CHECK(start.prompts[i].branch == expected[i]);
    CHECK(start.prompts[i].parent_candidate == static_cast<int>(i) + 1);
    CHECK(start.prompts[i].dialogue == facts.candidates[i].dialogue);
  }
}

TEST_CASE("duplicates of a failure share one prompt and fresh tasks fill the round") {
  JobFacts facts = FactsWithBaseline(3);
  AddRound(&facts, 1, {Failed(v1::COMPILE_ERROR), Failed(v1::COMPILE_ERROR), Failed(v1::MISMATCH)});
  facts.candidates[1].duplicate_of = 1;
  const auto start = As<decision::StartRound>(DecideNow(facts));
  REQUIRE(start.prompts.size() == 3);
  CHECK(start.prompts[0].parent_candidate == 1);
  CHECK(start.prompts[1].parent_candidate == 3);
  CHECK(start.prompts[2].branch == v1::TASK);
  CHECK(start.prompts[2].dialogue == 0);
}

TEST_CASE("once something is right, every prompt is a performance prompt from the incumbent") {
  JobFacts facts = FactsWithBaseline(2);
  AddRound(&facts, 1, {Failed(v1::MISMATCH), Measured(120)});
  CHECK(As<decision::Promote>(DecideNow(facts)).candidate == 2);
  facts.incumbent = 2;
  const auto start = As<decision::StartRound>(DecideNow(facts));
  REQUIRE(start.prompts.size() == 2);
  for (const PlannedPrompt& prompt : start.prompts) {
    CHECK(prompt.branch == v1::PERFORMANCE);
    CHECK(prompt.parent_candidate == 2);
    CHECK(prompt.dialogue == facts.candidates[1].dialogue);
  }
}

TEST_CASE("against an incumbent the verdict decides, not the latency of another moment") {
  CHECK(As<decision::Promote>(DecideNow(SecondRound({MeasuredAgainst(55, v1::FASTER), MeasuredAgainst(60, v1::SAME)})))
            .candidate == 3);
  As<decision::StartRound>(DecideNow(SecondRound({MeasuredAgainst(30, v1::SLOWER), MeasuredAgainst(40, v1::SAME)})));
  CHECK(As<decision::Promote>(DecideNow(SecondRound({MeasuredAgainst(30, v1::SAME), MeasuredAgainst(40, v1::FASTER)})))
            .candidate == 4);
}

TEST_CASE("without a verdict, and for estimates, the latency decides") {
  CHECK(As<decision::Promote>(DecideNow(SecondRound({Measured(49), Measured(51)}))).candidate == 3);
  As<decision::StartRound>(DecideNow(SecondRound({Measured(50), Measured(51)})));

  JobFacts facts = SecondRound({Measured(49, /*estimated=*/true), Failed(v1::TIMEOUT)});
  facts.candidates[0].result = Measured(50, /*estimated=*/true);
  v1::Comparison* comparison = facts.candidates[2].result->add_comparisons();
  comparison->set_against(v1::Comparison::INCUMBENT);
  comparison->set_verdict(v1::AMBIGUOUS);
  CHECK(As<decision::Promote>(DecideNow(facts)).candidate == 3);
}

TEST_CASE("an estimate never beats a measured time") {
  As<decision::StartRound>(DecideNow(SecondRound({Measured(1, /*estimated=*/true), Failed(v1::TIMEOUT)})));
}

TEST_CASE("an ambiguous verdict is measured again once, and that verdict stands") {
  JobFacts facts = SecondRound({MeasuredAgainst(49, v1::AMBIGUOUS, 1.01), Failed(v1::MISMATCH)});
  CHECK(As<decision::Remeasure>(DecideNow(facts)).candidate == 3);
  facts.remeasured[3] = std::nullopt;
  As<decision::Wait>(DecideNow(facts));
  facts.remeasured[3] = MeasuredAgainst(49, v1::FASTER, 1.02);
  CHECK(As<decision::Promote>(DecideNow(facts)).candidate == 3);
  for (const auto& again : {MeasuredAgainst(49, v1::AMBIGUOUS, 1.01), MeasuredAgainst(49, v1::SAME, 1.0),
                            Failed(v1::MISMATCH), Failed(v1::UNSUPPORTED)}) {
    facts.remeasured[3] = again;
    As<decision::StartRound>(DecideNow(facts));
  }
}

TEST_CASE("an ambiguous candidate that looks slower is not measured again") {
  As<decision::StartRound>(
      DecideNow(SecondRound({MeasuredAgainst(51, v1::AMBIGUOUS, 0.99), MeasuredAgainst(60, v1::SLOWER, 0.8)})));
}

TEST_CASE("at most so many candidates of a round are measured again") {
  JobFacts facts = SecondRound(std::vector(kRemeasuredPerRoundMax + 2, MeasuredAgainst(49, v1::AMBIGUOUS, 1.01)));
  int count = 0;
  for (;; ++count) {
    const Decision decided = DecideNow(facts);
    if (!std::holds_alternative<decision::Remeasure>(decided)) break;
    facts.remeasured[std::get<decision::Remeasure>(decided).candidate] = MeasuredAgainst(49, v1::AMBIGUOUS, 1.01);
  }
  CHECK(count == kRemeasuredPerRoundMax);
}

TEST_CASE("a round promotes at most one, and a duplicate of an earlier candidate never") {
  JobFacts facts = SecondRound({MeasuredAgainst(40, v1::FASTER), MeasuredAgainst(45, v1::FASTER)});
  facts.incumbent = 3;
  As<decision::StartRound>(DecideNow(facts));

  JobFacts again = SecondRound({MeasuredAgainst(40, v1::FASTER), Failed(v1::MISMATCH)});
  again.candidates[2].duplicate_of = 2;
  As<decision::StartRound>(DecideNow(again));
}

TEST_CASE("a copy of the baseline, answered without an evaluation of its own, is neither promoted nor a failure") {
  JobFacts facts = FactsWithBaseline(2);
  AddRound(&facts, 1, {Measured(100), Failed(v1::MISMATCH)});
  facts.candidates[0].evaluation = 0;
  const auto start = As<decision::StartRound>(DecideNow(facts));
  CHECK(start.prompts[0].branch == v1::MISMATCH_FAILURE);
  CHECK(start.prompts[1].branch == v1::TASK);
}

TEST_CASE("the job ends when its target is reached, and says by how much") {
  JobFacts facts = SecondRound({Failed(v1::MISMATCH), Failed(v1::MISMATCH)});
  facts.job.mutable_options()->set_target_speedup(2.0);
  const auto end = As<decision::End>(DecideNow(facts));
  CHECK(end.state == v1::Job::FINISHED);
  CHECK_THAT(end.reason, Catch::Contains("2.00") && Catch::Contains("50 us"));
  facts.job.mutable_options()->set_target_speedup(2.01);
  As<decision::StartRound>(DecideNow(facts));
  facts.job.mutable_options()->set_target_latency_us(50);
  CHECK_THAT(As<decision::End>(DecideNow(facts)).reason, Catch::Contains("target latency"));
}

TEST_CASE("patience counts rounds since the incumbent's, and since the beginning where nothing is right") {
  JobFacts facts = SecondRound({Failed(v1::MISMATCH), Failed(v1::MISMATCH)});
  facts.job.mutable_options()->set_patience_rounds(2);
  As<decision::StartRound>(DecideNow(facts));
  AddRound(&facts, 3, {Failed(v1::MISMATCH), Failed(v1::MISMATCH)});
  CHECK_THAT(As<decision::End>(DecideNow(facts)).reason, Catch::Contains("patience"));

  JobFacts never_right = FactsWithBaseline(1);
  never_right.job.mutable_options()->set_patience_rounds(1);
  AddRound(&never_right, 1, {Failed(v1::TIMEOUT)});
  CHECK_THAT(As<decision::End>(DecideNow(never_right)).reason, Catch::Contains("patience"));
}

TEST_CASE("an exhausted generator ends the job after what it delivered is evaluated and promoted") {
  JobFacts facts = FactsWithBaseline(2);
  AddRound(&facts, 1, {Measured(50), Measured(40)});
  facts.prompts[1].completion.reset();
  facts.prompts[1].candidate = 0;
  facts.candidates.pop_back();
  As<decision::Ask>(DecideNow(facts, /*exhausted=*/false));
  CHECK(As<decision::Promote>(DecideNow(facts, /*exhausted=*/true)).candidate == 1);
  facts.incumbent = 1;
  CHECK_THAT(As<decision::End>(DecideNow(facts, true)).reason, Catch::Contains("nothing more to propose"));
}

TEST_CASE("when the time is used up, what is known is promoted and the job ends without waiting") {
  JobFacts facts = FactsWithBaseline(2);
  AddRound(&facts, 1, {Measured(50), Measured(40)});
  facts.candidates[1].result.reset();
  facts.job.mutable_options()->set_wall_seconds_max(60);
  const absl::Time deadline = CreatedAt() + absl::Seconds(60);
  CHECK(WallDeadline(facts.job) == deadline);
  As<decision::Wait>(Decide(facts, deadline - absl::Microseconds(1), false));
  CHECK(As<decision::Promote>(Decide(facts, deadline, false)).candidate == 1);
  facts.incumbent = 1;
  const auto end = As<decision::End>(Decide(facts, deadline, false));
  CHECK(end.state == v1::Job::FINISHED);
  CHECK_THAT(end.reason, Catch::Contains("60 s"));
  facts.baseline.reset();
  As<decision::End>(Decide(facts, deadline, false));
}

}  // namespace
}  // namespace fsr
