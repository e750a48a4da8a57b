#include "server/dispatch/dispatcher.h"

#include <catch2/catch.hpp>
#include <set>

#include "common/status.h"
#include "tests/server/dispatch/dispatcher_fixture.h"

namespace fsr {

using Names = std::vector<std::string>;

TEST_CASE("a worker gets as many evaluations as it wants, and no two the same") {
  DispatchFixture fixture;
  fixture.JobWithWork(5);
  const v1::SynchronizeResponse first = fixture.Call(FakeWorker("w1").Wants(2));
  const v1::SynchronizeResponse second = fixture.Call(FakeWorker("w2").Wants(3));
  CHECK(first.assignments_size() == 2);
  CHECK(second.assignments_size() == 3);
  std::set<std::string> evaluations, leases;
  for (const auto& response : {first, second}) {
    for (const v1::Assignment& assignment : response.assignments()) {
      evaluations.insert(assignment.evaluation_id());
      leases.insert(assignment.lease_id());
      CHECK(assignment.lease_id().size() == 32);  // 128 bits that nobody can guess
    }
  }
  CHECK(evaluations.size() == 5);
  CHECK(leases.size() == 5);
}

TEST_CASE("a finished report is recorded once, however often it is sent") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(1);
  const std::string lease = fixture.Leases(FakeWorker("w1").Wants(1)).at(0);
  CHECK(Recorded(fixture.Call(FakeWorker("w1").Finished(lease, Measured(5)))) == Names{lease});
  // The answer was lost: the worker says it again. It is told to forget the lease, and nothing changes.
  CHECK(Abandoned(fixture.Call(FakeWorker("w1").Finished(lease, Measured(1)))) == Names{lease});
  CHECK(fixture.FinishedCount(job) == 1);
  CHECK(fixture.store->LoadFacts(job).value().candidates[0].result->measurement().latency_us() == 5);
}

TEST_CASE("a worker may report one lease and get the next in the same call") {
  DispatchFixture fixture;
  fixture.JobWithWork(2);
  const std::string lease = fixture.Leases(FakeWorker("w1").Wants(1)).at(0);
  const auto response = fixture.Call(FakeWorker("w1").Wants(1).Finished(lease, Failed(v1::COMPILE_ERROR)));
  CHECK(Recorded(response) == Names{lease});
  CHECK(response.assignments_size() == 1);
}

TEST_CASE("an unknown lease is abandoned and changes nothing") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(1);
  const auto response = fixture.Call(FakeWorker("w1").Evaluating("one").Finished("two", Measured(1)));
  CHECK(Abandoned(response) == Names{"one", "two"});
  CHECK(Recorded(response).empty());
  CHECK(fixture.FinishedCount(job) == 0);
}

TEST_CASE("a worker cannot report under another worker's lease") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(1);
  const std::string lease = fixture.Leases(FakeWorker("w1").Wants(1)).at(0);
  CHECK(Abandoned(fixture.Call(FakeWorker("w2").Finished(lease, Measured(1)))) == Names{lease});
  CHECK(fixture.FinishedCount(job) == 0);
  CHECK(Recorded(fixture.Call(FakeWorker("w1").Finished(lease, Measured(5)))) == Names{lease});
}

TEST_CASE("what a worker gives back goes to another one, with the next attempt's number") {
  DispatchFixture fixture;
  fixture.JobWithWork(1);
  const std::string lease = fixture.Leases(FakeWorker("w1").Wants(1)).at(0);
  const auto response = fixture.Call(FakeWorker("w1").Wants(1).Returned(lease, "no space on the disk"));
  CHECK(Recorded(response) == Names{lease});
  CHECK(response.assignments().empty());  // not to the same one at once
  const auto other = fixture.Call(FakeWorker("w2").Wants(1));
  REQUIRE(other.assignments_size() == 1);
  CHECK(other.assignments(0).attempt() == 2);
}

TEST_CASE("a result without an outcome is no result") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(1);
  const std::string lease = fixture.Leases(FakeWorker("w1").Wants(1)).at(0);
  CHECK(Recorded(fixture.Call(FakeWorker("w1").Finished(lease, v1::Evaluation()))) == Names{lease});
  CHECK(fixture.FinishedCount(job) == 0);
  CHECK(fixture.Leases(FakeWorker("w2").Wants(1)).size() == 1);
}

TEST_CASE("a draining or unhealthy worker gets nothing new and keeps what it has") {
  DispatchFixture fixture;
  fixture.JobWithWork(3);
  const std::string lease = fixture.Leases(FakeWorker("w1").Wants(1)).at(0);
  const auto draining = fixture.Call(FakeWorker("w1").Wants(2).Draining().Evaluating(lease));
  CHECK(draining.assignments().empty());
  CHECK(Abandoned(draining).empty());
  CHECK(fixture.Call(FakeWorker("w2").Wants(2).Unhealthy("the GPU has gone")).assignments().empty());
  CHECK(Recorded(fixture.Call(FakeWorker("w1").Draining().Finished(lease, Measured(1)))) == Names{lease});
}

TEST_CASE("the leases of a cancelled job are abandoned") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(2);
  const std::string lease = fixture.Leases(FakeWorker("w1").Wants(1)).at(0);
  REQUIRE(fixture.store->EndJob(job, v1::Job::CANCELLED, "by request").ok());
  const auto response = fixture.Call(FakeWorker("w1").Wants(1).Evaluating(lease));
  CHECK(Abandoned(response) == Names{lease});
  CHECK(response.assignments().empty());
}

TEST_CASE("a lease whose answer was lost is sent again and costs no attempt") {
  DispatchFixture fixture;
  fixture.JobWithWork(1);
  const auto lost = fixture.Call(FakeWorker("w1").Wants(1));
  const auto again = fixture.Call(FakeWorker("w1").Wants(1));
  REQUIRE(again.assignments_size() == 1);
  CHECK(again.assignments(0).SerializeAsString() == lost.assignments(0).SerializeAsString());
  CHECK(again.assignments(0).attempt() == 1);
}

TEST_CASE("a lease whose answer was lost goes to another if the worker takes no work any more") {
  DispatchFixture fixture;
  fixture.JobWithWork(1);
  REQUIRE(fixture.Leases(FakeWorker("w1").Wants(1)).size() == 1);
  CHECK(fixture.Leases(FakeWorker("w1").Draining()).empty());
  CHECK(fixture.Leases(FakeWorker("w2").Wants(1)).size() == 1);
}

TEST_CASE("workers are listed with what they said of themselves") {
  DispatchFixture fixture;
  fixture.JobWithWork(2);
  fixture.Call(FakeWorker("w1").Wants(2));
  fixture.clock.Advance(absl::Seconds(3));
  fixture.Call(FakeWorker("w2").Unhealthy("no driver"));
  const v1::ListWorkersResponse workers = fixture.dispatcher->ListWorkers().value();
  REQUIRE(workers.workers_size() == 2);
  CHECK(workers.workers(0).id() == "w1");
  CHECK(workers.workers(0).lease_count() == 2);
  CHECK(workers.workers(0).device().kind() == "sim:h200");
  CHECK(workers.workers(0).last_contact_us() == 1'800'000'000'000'000);
  CHECK(workers.workers(1).unhealthy() == "no driver");
  CHECK(workers.workers(1).lease_count() == 0);
  CHECK_FALSE(workers.workers(1).lost());
}

TEST_CASE("a call that says nothing of itself is refused") {
  DispatchFixture fixture;
  FakeWorker nameless(""), bootless("w1", ""), deviceless("w1");
  deviceless.request.clear_device();
  for (const FakeWorker& worker : {nameless, bootless, deviceless}) {
    CHECK(fixture.dispatcher->Synchronize(worker.request).status().code() == absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace fsr
