#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "common/status.h"
#include "tests/server/store/store_fixture.h"

namespace fsr {
namespace {

constexpr int kAttempts = 3;

bool NothingWaits(Store& store, const v1::DeviceFacts& device = SimulatedDevice()) {
  return !store.Lease(device, "probe", "boot", "probe").value().has_value();
}

}  // namespace

TEST_CASE("an assignment carries the whole specification, with the task put back") {
  StoreFixture fixture;
  const JobId job = fixture.NewJob();
  v1::EvaluationSpec spec = SomeSpec("baseline", 0xfedcba9876543210u);
  spec.mutable_limits()->set_run_seconds(3);
  REQUIRE(fixture.store->EnqueueBaseline(job, spec).ok());
  const v1::Assignment assignment = fixture.LeaseNext("l1");
  CHECK(assignment.lease_id() == "l1");
  CHECK(assignment.attempt() == 1);
  CHECK(assignment.spec().source() == "baseline");
  CHECK(assignment.spec().seed() == 0xfedcba9876543210u);
  CHECK(assignment.spec().limits().run_seconds() == 3);
  CHECK(assignment.spec().task().SerializeAsString() == SomeTask().SerializeAsString());
}

TEST_CASE("an evaluation is handed to one worker at a time") {
  StoreFixture fixture;
  const JobId job = fixture.NewJob();
  REQUIRE(fixture.store->EnqueueBaseline(job, SomeSpec("b")).ok());
  fixture.LeaseNext("l1", "w1");
  CHECK(NothingWaits(*fixture.store));
  const auto open = fixture.store->OpenAttempts().value();
  REQUIRE(open.size() == 1);
  CHECK(open[0].lease_id == "l1");
  CHECK(open[0].worker_id == "w1");
  CHECK(open[0].boot_id == "boot");
  CHECK(open[0].attempt == 1);
  CHECK(open[0].leased_at == fixture.clock.Now());
  CHECK(fixture.store->OpenAttemptsOf("w2").value().empty());
}

TEST_CASE("the oldest evaluation goes first, over all jobs") {
  StoreFixture fixture;
  const JobId first = fixture.JobWithAnswers(2);
  const JobId second = fixture.JobWithAnswers(1);
  fixture.AddCandidate(first, 1, "a");
  fixture.AddCandidate(second, 1, "b");
  fixture.AddCandidate(first, 2, "c");
  CHECK(fixture.LeaseNext("l1").spec().source() == "a");
  CHECK(fixture.LeaseNext("l2").spec().source() == "b");
  CHECK(fixture.LeaseNext("l3").spec().source() == "c");
}

TEST_CASE("a job's baseline goes before its candidates") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(2);
  fixture.AddCandidate(job, 1, "a");
  REQUIRE(fixture.store->EnqueueBaseline(job, SomeSpec("baseline")).ok());
  fixture.AddCandidate(job, 2, "b");
  CHECK(fixture.LeaseNext("l1").spec().source() == "baseline");
  CHECK(fixture.LeaseNext("l2").spec().source() == "a");
}

TEST_CASE("a worker gets what asks for its kind of device, and a real one what asks for any real one") {
  StoreFixture fixture;
  v1::CreateJobRequest any = SomeRequest();
  any.set_device_kind("cuda");
  v1::CreateJobRequest other_sim = SomeRequest();
  other_sim.set_device_kind("sim:rtx3090ti");
  REQUIRE(fixture.store->EnqueueBaseline(fixture.NewJob(any), SomeSpec("any")).ok());
  REQUIRE(fixture.store->EnqueueBaseline(fixture.NewJob(other_sim), SomeSpec("other")).ok());
  CHECK(NothingWaits(*fixture.store, SimulatedDevice()));
  const auto leased = fixture.store->Lease(RealDevice(), "w", "b", "l").value();
  REQUIRE(leased.has_value());
  CHECK(leased->spec().source() == "any");
  CHECK(NothingWaits(*fixture.store, RealDevice()));
}

TEST_CASE("a result is recorded once, with who brought it") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "a");
  const v1::Assignment assignment = fixture.LeaseNext("l1", "w7");
  CHECK(fixture.store->Finish("l1", Measured(4)).value());
  CHECK_FALSE(fixture.store->Finish("l1", Measured(1)).value());
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  CHECK(facts.job.evaluation_count() == 1);
  CHECK(facts.candidates[0].result->measurement().latency_us() == 4);
  CHECK(facts.candidates[0].result->worker() == "w7");
  CHECK(facts.candidates[0].result->attempt() == 1);
  CHECK(facts.candidates[0].result->id() == assignment.evaluation_id());
  CHECK(fixture.store->OpenAttempts().value().empty());
}

TEST_CASE("a report under a lease that was never given out changes nothing") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "a");
  fixture.LeaseNext("l1");
  const uint64_t version = fixture.store->changes().Version();
  CHECK_FALSE(fixture.store->Finish("guessed", Measured(1)).value());
  CHECK_FALSE(fixture.store->Release("guessed", AttemptEnd::kReturned, "", kAttempts).value());
  CHECK(fixture.store->AssignmentOf("guessed").value() == std::nullopt);
  CHECK(fixture.store->changes().Version() == version);
}

TEST_CASE("a late report under a released lease changes nothing, and the second attempt counts") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "a");
  fixture.LeaseNext("l1", "w1");
  REQUIRE(fixture.store->Release("l1", AttemptEnd::kLost, "silent for 20s", kAttempts).value());
  CHECK(fixture.LeaseNext("l2", "w2").attempt() == 2);
  CHECK_FALSE(fixture.store->Finish("l1", Measured(1)).value());
  CHECK_FALSE(fixture.store->Release("l1", AttemptEnd::kLost, "again", kAttempts).value());
  CHECK(fixture.store->Finish("l2", Measured(9)).value());
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  CHECK(facts.job.evaluation_count() == 1);
  CHECK(facts.candidates[0].result->measurement().latency_us() == 9);
  CHECK(facts.candidates[0].result->attempt() == 2);
}

TEST_CASE("an evaluation that is lost too often ends as UNSUPPORTED and names every attempt") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "a");
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const std::string lease = fmt::format("l{}", attempt);
    fixture.LeaseNext(lease, fmt::format("worker-{}", attempt));
    REQUIRE(fixture.store->Release(lease, AttemptEnd::kLost, fmt::format("silent {} s", attempt), kAttempts).value());
  }
  CHECK(NothingWaits(*fixture.store));
  const v1::Evaluation result = *fixture.store->LoadFacts(job).value().candidates[0].result;
  CHECK(result.outcome() == v1::UNSUPPORTED);
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    CHECK_THAT(result.diagnosis(), Catch::Contains(fmt::format("worker-{}", attempt)) &&
                                       Catch::Contains(fmt::format("silent {} s", attempt)));
  }
  CHECK_THAT(result.diagnosis(), Catch::Contains("in 3 attempts") && Catch::Contains("no finding about the kernel"));
  CHECK(fixture.Events(job).back().candidate_evaluated().candidate().evaluation().outcome() == v1::UNSUPPORTED);
}

TEST_CASE("what workers give back does not use up the attempts that were lost") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "a");
  for (int i = 0; i < 5; ++i) {
    const std::string lease = fmt::format("returned-{}", i);
    fixture.LeaseNext(lease);
    REQUIRE(fixture.store->Release(lease, AttemptEnd::kReturned, "no disk", 10).value());
  }
  fixture.LeaseNext("lost");
  REQUIRE(fixture.store->Release("lost", AttemptEnd::kLost, "silent", kAttempts).value());
  CHECK(fixture.LeaseNext("last").attempt() == 7);
}

TEST_CASE("a cancelled job's evaluations are never handed out, and a report for one changes nothing") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(2);
  fixture.AddCandidate(job, 1, "a");
  fixture.AddCandidate(job, 2, "b");
  fixture.LeaseNext("l1");
  REQUIRE(fixture.store->EndJob(job, v1::Job::CANCELLED, "by request").ok());
  CHECK(NothingWaits(*fixture.store));
  CHECK(fixture.store->OpenAttempts().value().empty());
  const size_t event_count = fixture.Events(job).size();
  CHECK_FALSE(fixture.store->Finish("l1", Measured(1)).value());
  CHECK_FALSE(fixture.store->Release("l1", AttemptEnd::kLost, "silent", kAttempts).value());
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  CHECK(facts.job.evaluation_count() == 0);
  CHECK(facts.candidates[0].result == std::nullopt);
  CHECK(fixture.Events(job).size() == event_count);
}

TEST_CASE("a finished report must have an outcome") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "a");
  fixture.LeaseNext("l1");
  CHECK(fixture.store->Finish("l1", v1::Evaluation()).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(fixture.store->OpenAttempts().value().size() == 1);
}

TEST_CASE("a latency that is no number is no measurement") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "a");
  fixture.FinishNext(Measured(std::numeric_limits<double>::quiet_NaN()));
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  CHECK(facts.job.evaluation_count() == 1);
  CHECK(facts.job.best_latency_us() == 0);
}

TEST_CASE("a single evaluation keeps its task and can be waited for") {
  StoreFixture fixture;
  v1::EvaluationSpec spec = SomeSpec("one file");
  *spec.mutable_task() = SomeTask("sigmoid");
  const EvaluationId id = fixture.store->EnqueueSingle(spec, "sim:h200").value();
  CHECK(fixture.store->ResultOf(id).value() == std::nullopt);
  CHECK(fixture.LeaseNext("l1").spec().task().name() == "sigmoid");
  REQUIRE(fixture.store->Finish("l1", Measured(2)).value());
  CHECK(fixture.store->ResultOf(id).value()->measurement().latency_us() == 2);
  CHECK(fixture.store->CancelSingle(id).ok());  // too late to matter
  CHECK(fixture.store->ResultOf(id).value().has_value());
  CHECK(fixture.store->ResultOf(id + 1).status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("a cancelled single evaluation is abandoned") {
  StoreFixture fixture;
  v1::EvaluationSpec spec = SomeSpec("one file");
  *spec.mutable_task() = SomeTask();
  const EvaluationId leased = fixture.store->EnqueueSingle(spec, "sim:h200").value();
  const EvaluationId waiting = fixture.store->EnqueueSingle(spec, "sim:h200").value();
  fixture.LeaseNext("l1");
  REQUIRE(fixture.store->CancelSingle(leased).ok());
  REQUIRE(fixture.store->CancelSingle(waiting).ok());
  CHECK_FALSE(fixture.store->Finish("l1", Measured(2)).value());
  CHECK(NothingWaits(*fixture.store));
  CHECK(fixture.store->ResultOf(leased).status().code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("all single evaluations can be cancelled at once, and only those") {
  StoreFixture fixture;
  v1::EvaluationSpec spec = SomeSpec("one file");
  *spec.mutable_task() = SomeTask();
  REQUIRE(fixture.store->EnqueueSingle(spec, "sim:h200").ok());
  fixture.LeaseNext("l1");
  REQUIRE(fixture.store->EnqueueSingle(spec, "sim:h200").ok());
  REQUIRE(fixture.store->EnqueueBaseline(fixture.NewJob(), SomeSpec("baseline")).ok());
  REQUIRE(fixture.store->CancelAllSingle().ok());
  CHECK_FALSE(fixture.store->Finish("l1", Measured(2)).value());
  CHECK(fixture.LeaseNext("l2").spec().source() == "baseline");
  CHECK(NothingWaits(*fixture.store));
}

TEST_CASE("CancelSingle does not touch a job's evaluation") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "a");
  const EvaluationId id = std::stoll(fixture.LeaseNext("l1").evaluation_id());
  REQUIRE(fixture.store->CancelSingle(id).ok());
  CHECK(fixture.store->Finish("l1", Measured(2)).value());
}

TEST_CASE("the queue takes as many as its limit says") {
  StoreFixture fixture({.queued_evaluations_max = 2});
  v1::EvaluationSpec spec = SomeSpec("one file");
  *spec.mutable_task() = SomeTask();
  CHECK(fixture.store->EnqueueSingle(spec, "sim:h200").ok());
  CHECK(fixture.store->EnqueueSingle(spec, "sim:h200").ok());
  const absl::Status refused = fixture.store->EnqueueSingle(spec, "sim:h200").status();
  CHECK(refused.code() == absl::StatusCode::kResourceExhausted);
  CHECK_THAT(MessageOf(refused), Catch::Contains("2 evaluations wait"));
  fixture.LeaseNext("l1");
  CHECK(fixture.store->EnqueueSingle(spec, "sim:h200").ok());
}

TEST_CASE("an open lease gives its assignment again, a closed one does not") {
  StoreFixture fixture;
  const JobId job = fixture.NewJob();
  REQUIRE(fixture.store->EnqueueBaseline(job, SomeSpec("b")).ok());
  const v1::Assignment first = fixture.LeaseNext("l1");
  CHECK(fixture.store->AssignmentOf("l1").value()->SerializeAsString() == first.SerializeAsString());
  REQUIRE(fixture.store->Finish("l1", Measured(1)).value());
  CHECK(fixture.store->AssignmentOf("l1").value() == std::nullopt);
}

}  // namespace fsr
