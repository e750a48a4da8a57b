// Workers that vanish, come back, are restarted, or doubled; and a server that is restarted.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/server/dispatch/dispatcher_fixture.h"

namespace fsr {

using Names = std::vector<std::string>;

TEST_CASE("a worker that calls in time keeps its lease") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(1);
  const std::string lease = fixture.Leases(FakeWorker("w1").Wants(1)).at(0);
  for (int i = 0; i < 5; ++i) {
    fixture.clock.Advance(kLeaseLifetime - absl::Seconds(1));
    CHECK(fixture.Leases(FakeWorker("w2").Wants(1)).empty());
    CHECK(Abandoned(fixture.Call(FakeWorker("w1").Evaluating(lease))).empty());
  }
  CHECK(Recorded(fixture.Call(FakeWorker("w1").Finished(lease, Measured(1)))) == Names{lease});
  CHECK(fixture.FinishedCount(job) == 1);
}

TEST_CASE("an expired lease cannot report a result, and the evaluation goes to another") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(1);
  const std::string lost = fixture.Leases(FakeWorker("w1").Wants(1)).at(0);
  fixture.clock.Advance(kLeaseLifetime);
  const auto handed_on = fixture.Call(FakeWorker("w2").Wants(1));
  REQUIRE(handed_on.assignments_size() == 1);
  CHECK(handed_on.assignments(0).attempt() == 2);
  CHECK(Abandoned(fixture.Call(FakeWorker("w1").Finished(lost, Measured(1)))) == Names{lost});
  CHECK(fixture.FinishedCount(job) == 0);
  CHECK(Recorded(fixture.Call(FakeWorker("w2").Finished(handed_on.assignments(0).lease_id(), Measured(9)))).size() ==
        1);
  CHECK(fixture.store->LoadFacts(job).value().candidates[0].result->measurement().latency_us() == 9);
}

TEST_CASE("a worker that itself calls too late has lost its lease") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(1);
  const std::string lease = fixture.Leases(FakeWorker("w1").Wants(1)).at(0);
  fixture.clock.Advance(kLeaseLifetime);
  CHECK(Abandoned(fixture.Call(FakeWorker("w1").Finished(lease, Measured(1)))) == Names{lease});
  CHECK(fixture.FinishedCount(job) == 0);
}

TEST_CASE("a lost worker is listed as lost until it calls again") {
  DispatchFixture fixture;
  fixture.Call(FakeWorker("w1"));
  fixture.clock.Advance(kLeaseLifetime);
  CHECK(fixture.dispatcher->ListWorkers().value().workers(0).lost());
  fixture.Call(FakeWorker("w1"));
  CHECK_FALSE(fixture.dispatcher->ListWorkers().value().workers(0).lost());
}

TEST_CASE("an evaluation that takes three workers down is not handed out a fourth time") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(1);
  for (int i = 1; i <= kAttemptsMax; ++i) {
    REQUIRE(fixture.Leases(FakeWorker(fmt::format("w{}", i)).Wants(1)).size() == 1);
    fixture.clock.Advance(kLeaseLifetime);
  }
  CHECK(fixture.Leases(FakeWorker("w9").Wants(1)).empty());
  const v1::Evaluation result = *fixture.store->LoadFacts(job).value().candidates[0].result;
  CHECK(result.outcome() == v1::UNSUPPORTED);
  CHECK_THAT(result.diagnosis(), Catch::Contains("w1") && Catch::Contains("w2") && Catch::Contains("w3") &&
                                     Catch::Contains("not heard of for 20s"));
}

TEST_CASE("an evaluation that is always given back ends, too, after more attempts") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(1);
  for (int i = 1; i <= kReturnsMax; ++i) {
    const Names leases = fixture.Leases(FakeWorker("w1").Wants(1));
    REQUIRE(leases.size() == 1);
    fixture.Call(FakeWorker("w1").Returned(leases[0], "no space on the disk"));
  }
  CHECK(fixture.Leases(FakeWorker("w1").Wants(1)).empty());
  const v1::Evaluation result = *fixture.store->LoadFacts(job).value().candidates[0].result;
  CHECK(result.outcome() == v1::UNSUPPORTED);
  CHECK_THAT(result.diagnosis(), Catch::Contains("no space on the disk"));
}

TEST_CASE("a new boot id ends the leases of the old process at once") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(1);
  const std::string old_lease = fixture.Leases(FakeWorker("w1", "boot-1").Wants(1)).at(0);
  const auto restarted = fixture.Call(FakeWorker("w1", "boot-2").Wants(1));
  REQUIRE(restarted.assignments_size() == 1);
  CHECK(restarted.assignments(0).attempt() == 2);
  CHECK(restarted.assignments(0).lease_id() != old_lease);
  // A report of the old process that was still under way.
  CHECK(Abandoned(fixture.Call(FakeWorker("w1", "boot-1").Finished(old_lease, Measured(1)))) == Names{old_lease});
  CHECK(fixture.FinishedCount(job) == 0);
}

TEST_CASE("of two processes under one worker id the later one works, and the older one gets nothing") {
  DispatchFixture fixture;
  fixture.JobWithWork(2);
  fixture.Call(FakeWorker("w1", "boot-1"));
  const std::string lease = fixture.Leases(FakeWorker("w1", "boot-2").Wants(1)).at(0);
  CHECK(fixture.Leases(FakeWorker("w1", "boot-1").Wants(1)).empty());
  CHECK(Abandoned(fixture.Call(FakeWorker("w1", "boot-2").Evaluating(lease))).empty());
}

TEST_CASE("leases outlive a restart of the server") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithWork(1);
  const std::string lease = fixture.Leases(FakeWorker("w1").Wants(1)).at(0);
  fixture.clock.Advance(absl::Hours(1));  // however long it was down
  fixture.Restart();
  CHECK(fixture.Leases(FakeWorker("w2").Wants(1)).empty());
  fixture.clock.Advance(kLeaseLifetime - absl::Seconds(1));
  CHECK(Recorded(fixture.Call(FakeWorker("w1").Finished(lease, Measured(3)))) == Names{lease});
  CHECK(fixture.FinishedCount(job) == 1);
}

TEST_CASE("a worker that does not come back after a restart of the server loses its lease") {
  DispatchFixture fixture;
  fixture.JobWithWork(1);
  fixture.Leases(FakeWorker("w1").Wants(1));
  fixture.Restart();
  fixture.clock.Advance(kLeaseLifetime);
  CHECK(fixture.Leases(FakeWorker("w2").Wants(1)).size() == 1);
}

TEST_CASE("a worker restarted while the server was down loses its lease at once") {
  DispatchFixture fixture;
  fixture.JobWithWork(1);
  fixture.Leases(FakeWorker("w1", "boot-1").Wants(1));
  fixture.Restart();
  const auto response = fixture.Call(FakeWorker("w1", "boot-2").Wants(1));
  REQUIRE(response.assignments_size() == 1);
  CHECK(response.assignments(0).attempt() == 2);
}

}  // namespace fsr
