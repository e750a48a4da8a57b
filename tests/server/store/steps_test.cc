#include <catch2/catch.hpp>

#include "common/status.h"
#include "tests/server/store/store_fixture.h"

namespace fsr {

TEST_CASE("a round begins once, and numbers its prompts and lineages") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(2);
  fixture.AddCandidate(job, 1, "kernel one");
  const std::vector<NewPrompt> second = {
      {.branch = v1::COMPILE_FAILURE, .dialogue = 1, .parent_candidate = 1, .system_text = "s", .user_text = "fix"},
      {.branch = v1::TASK, .system_text = "s", .user_text = "anew"}};
  REQUIRE(fixture.store->StartRound(job, 2, second).ok());
  CHECK(fixture.store->StartRound(job, 2, second).code() == absl::StatusCode::kAlreadyExists);
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  REQUIRE(facts.prompts.size() == 4);
  CHECK(facts.job.round_count() == 2);
  CHECK(facts.prompts[1].dialogue == 2);
  CHECK(facts.prompts[2].number == 3);
  CHECK(facts.prompts[2].dialogue == 1);
  CHECK(facts.prompts[2].branch == v1::COMPILE_FAILURE);
  CHECK(facts.prompts[2].parent_candidate == 1);
  CHECK(facts.prompts[3].dialogue == 3);
  const v1::Event event = fixture.Events(job).back();
  CHECK(event.round_started().round() == 2);
  CHECK(event.round_started().prompt_count() == 2);
  CHECK(event.round_started().branches().at("COMPILE_FAILURE") == 1);
}

TEST_CASE("the first completion of a prompt is kept, a second one changes nothing") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  REQUIRE(fixture.store->StoreCompletion(job, 1, "another answer", "other").ok());
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  CHECK(facts.prompts[0].completion == "answer 1");
  CHECK(facts.prompts[0].change == "first");
}

TEST_CASE("a completion that arrives after the job has ended is still kept: it was paid for") {
  StoreFixture fixture;
  const JobId job = fixture.NewJob();
  REQUIRE(fixture.store->StartRound(job, 1, {NewPrompt{.system_text = "s", .user_text = "u"}}).ok());
  REQUIRE(fixture.store->EndJob(job, v1::Job::CANCELLED, "by request").ok());
  CHECK(fixture.store->StoreCompletion(job, 1, "late", "").ok());
  CHECK(fixture.store->LoadFacts(job).value().prompts[0].completion == "late");
  CHECK(fixture.store->StoreCompletion(job, 2, "late", "").code() == absl::StatusCode::kNotFound);
}

TEST_CASE("a prompt makes one candidate however often it is asked for") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "kernel one");
  const size_t event_count = fixture.Events(job).size();
  fixture.AddCandidate(job, 1, "kernel one");
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  CHECK(facts.candidates.size() == 1);
  CHECK(facts.prompts[0].candidate == 1);
  CHECK(facts.candidates[0].change == "first");
  CHECK(fixture.Events(job).size() == event_count);
  fixture.FinishNext(Measured(3));
  CHECK_FALSE(fixture.store->Lease(SimulatedDevice(), "w", "b", "l").value().has_value());
}

TEST_CASE("a candidate needs a completion") {
  StoreFixture fixture;
  const JobId job = fixture.NewJob();
  REQUIRE(fixture.store->StartRound(job, 1, {NewPrompt{.system_text = "s", .user_text = "u"}}).ok());
  CHECK(fixture.store->AddCandidate(job, {.prompt = 1, .source = "x", .spec = SomeSpec("x")}).code() ==
        absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a duplicate answers with the evaluation of the original and is not counted as evaluated") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(3);
  fixture.AddCandidate(job, 1, "kernel");
  fixture.AddCandidate(job, 2, "kernel", 1);
  fixture.FinishNext(Measured(5));
  fixture.AddCandidate(job, 3, "kernel", 2);  // of a duplicate, and of one that is finished already
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  CHECK(facts.job.candidate_count() == 3);
  CHECK(facts.job.duplicate_count() == 2);
  CHECK(facts.job.evaluation_count() == 1);
  for (const StoredCandidate& candidate : facts.candidates) {
    REQUIRE(candidate.result.has_value());
    CHECK(candidate.result->measurement().latency_us() == 5);
    CHECK(candidate.evaluation == facts.candidates[0].evaluation);
    CHECK(candidate.duplicate_of == (candidate.number == 1 ? 0 : 1));
  }
  CHECK_FALSE(fixture.store->Lease(SimulatedDevice(), "w", "b", "l").value().has_value());
}

TEST_CASE("every candidate is created once and evaluated once in the events") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(4);
  fixture.AddCandidate(job, 1, "kernel");
  fixture.AddCandidate(job, 2, "kernel", 1);
  fixture.FinishNext(Measured(5));
  fixture.AddCandidate(job, 3, "kernel", 1);
  REQUIRE(fixture.store->AddCandidate(job, {.prompt = 4, .refused = Failed(v1::LAUNCH_ERROR)}).ok());
  std::map<std::string, int> created, evaluated;
  for (const v1::Event& event : fixture.Events(job)) {
    if (event.has_candidate_created()) ++created[event.candidate_created().candidate().name()];
    if (event.has_candidate_evaluated()) {
      CHECK(event.candidate_evaluated().candidate().evaluation().outcome() != v1::OUTCOME_UNSPECIFIED);
      CHECK(event.candidate_evaluated().candidate().source().empty());
      ++evaluated[event.candidate_evaluated().candidate().name()];
    }
  }
  const std::map<std::string, int> each_once = {{"jobs/transpose-1/candidates/1", 1},
                                                {"jobs/transpose-1/candidates/2", 1},
                                                {"jobs/transpose-1/candidates/3", 1},
                                                {"jobs/transpose-1/candidates/4", 1}};
  CHECK(created == each_once);
  CHECK(evaluated == each_once);
}

TEST_CASE("a refused candidate has a result without an evaluation") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(2);
  REQUIRE(
      fixture.store->AddCandidate(job, {.prompt = 1, .source_hash = "h", .refused = Failed(v1::LAUNCH_ERROR)}).ok());
  fixture.AddCandidate(job, 2, "", 1);
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  CHECK(facts.candidates[0].evaluation == 0);
  CHECK(facts.candidates[0].result->outcome() == v1::LAUNCH_ERROR);
  CHECK(facts.candidates[1].result->outcome() == v1::LAUNCH_ERROR);
  CHECK(facts.job.evaluation_count() == 0);
}

TEST_CASE("the baseline is enqueued once, and its time gives the speed-up") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  REQUIRE(fixture.store->EnqueueBaseline(job, SomeSpec("baseline")).ok());
  REQUIRE(fixture.store->EnqueueBaseline(job, SomeSpec("baseline")).ok());
  const EvaluationId baseline = fixture.FinishNext(Measured(30));
  CHECK(fixture.store->LoadFacts(job).value().baseline_evaluation == baseline);
  fixture.AddCandidate(job, 1, "kernel");
  fixture.FinishNext(Measured(10));
  const v1::Job seen = fixture.store->GetJob("jobs/transpose-1").value();
  CHECK(seen.baseline_latency_us() == 30);
  CHECK(seen.best_latency_us() == 10);
  CHECK(seen.speedup() == Approx(3));
  CHECK(seen.estimated());
  CHECK(seen.baseline().measurement().latency_us() == 30);
  CHECK(seen.best_source() == "kernel");
  CHECK(seen.best_candidate() == "jobs/transpose-1/candidates/1");
  CHECK(seen.evaluation_count() == 1);
  CHECK(fixture.store->GetCandidate(seen.best_candidate()).value().speedup() == Approx(3));
}

TEST_CASE("an incumbent stays the best although another measured lower without being promoted") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(2);
  fixture.AddCandidate(job, 1, "first");
  fixture.FinishNext(Measured(10));
  REQUIRE(fixture.store->Promote(job, 1).ok());
  fixture.AddCandidate(job, 2, "second");
  fixture.FinishNext(Measured(9.99));
  CHECK(fixture.store->GetJob("jobs/transpose-1").value().best_latency_us() == 10);
  REQUIRE(fixture.store->Promote(job, 2).ok());
  REQUIRE(fixture.store->Promote(job, 2).ok());  // once more changes nothing
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  CHECK(facts.incumbent == 2);
  CHECK(facts.candidates[0].was_incumbent);
  CHECK(facts.job.best_latency_us() == 9.99);
  int promotions = 0;
  for (const v1::Event& event : fixture.Events(job)) promotions += event.has_incumbent_changed();
  CHECK(promotions == 2);
}

TEST_CASE("a kernel that is not right cannot become the incumbent") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(2);
  fixture.AddCandidate(job, 1, "wrong");
  fixture.FinishNext(Failed(v1::MISMATCH));
  fixture.AddCandidate(job, 2, "unfinished");
  CHECK(fixture.store->Promote(job, 1).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(fixture.store->Promote(job, 2).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(fixture.store->Promote(job, 3).code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a remeasurement is made once and does not count as another evaluation of the candidate") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "kernel");
  fixture.FinishNext(Measured(10));
  REQUIRE(fixture.store->Remeasure(job, 1, SomeSpec("kernel", 8)).ok());
  REQUIRE(fixture.store->Remeasure(job, 1, SomeSpec("kernel", 9)).ok());
  CHECK(fixture.store->LoadFacts(job).value().remeasured.at(1) == std::nullopt);
  fixture.FinishNext(Measured(11));
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  CHECK(facts.remeasured.at(1)->measurement().latency_us() == 11);
  CHECK(facts.candidates[0].result->measurement().latency_us() == 10);
  CHECK(facts.job.evaluation_count() == 1);
  CHECK_FALSE(fixture.store->Lease(SimulatedDevice(), "w", "b", "l").value().has_value());
}

TEST_CASE("a job that has ended takes no further step") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "kernel");
  fixture.FinishNext(Measured(10));
  REQUIRE(fixture.store->EndJob(job, v1::Job::CANCELLED, "by request").ok());
  const auto refused = absl::StatusCode::kFailedPrecondition;
  const size_t event_count = fixture.Events(job).size();
  CHECK(fixture.store->EnqueueBaseline(job, SomeSpec("b")).code() == refused);
  CHECK(fixture.store->StartRound(job, 2, {}).code() == refused);
  CHECK(fixture.store->AddCandidate(job, {.prompt = 1, .spec = SomeSpec("x")}).code() == refused);
  CHECK(fixture.store->Remeasure(job, 1, SomeSpec("x")).code() == refused);
  CHECK(fixture.store->Promote(job, 1).code() == refused);
  CHECK(fixture.Events(job).size() == event_count);
}

TEST_CASE("events are numbered from 1 without gaps, each job by itself, and can be read on from any of them") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(3);
  const JobId other = fixture.NewJob();
  fixture.AddCandidate(job, 1, "a");
  REQUIRE(fixture.store->StartJob(other).ok());
  fixture.AddCandidate(job, 2, "b");
  fixture.FinishNext(Failed(v1::COMPILE_ERROR));
  REQUIRE(fixture.store->EndJob(job, v1::Job::FINISHED, "done").ok());
  for (const JobId which : {job, other}) {
    uint64_t expected = 0;
    for (const v1::Event& event : fixture.Events(which)) {
      CHECK(event.sequence() == ++expected);
      CHECK(event.job() == fixture.NameOfJob(which));
    }
    CHECK(expected >= 2);
  }
  const std::vector<v1::Event> later = fixture.store->EventsAfter(job, 2, 2).value();
  REQUIRE(later.size() == 2);
  CHECK(later[0].sequence() == 3);
  CHECK(later[1].sequence() == 4);
  CHECK(fixture.store->EventsAfter(job, UINT64_MAX, 10).value().empty());
}

}  // namespace fsr
