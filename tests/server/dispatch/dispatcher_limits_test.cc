#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "common/status.h"
#include "tests/server/dispatch/dispatcher_fixture.h"

namespace fsr {

TEST_CASE("a worker holds as many leases as the limit says, whatever it wants") {
  DispatchFixture fixture;
  fixture.JobWithWork(kLeasesPerWorkerMax + 2);
  const auto first = fixture.Leases(FakeWorker("w1").Wants(1000));
  CHECK(first.size() == kLeasesPerWorkerMax);
  FakeWorker busy("w1");
  for (const std::string& lease : first) busy.Evaluating(lease);
  CHECK(fixture.Leases(busy.Wants(1)).empty());
}

TEST_CASE("as many workers as the limit says may be connected; a lost one makes room") {
  DispatchFixture fixture({.workers_max = 2});
  fixture.Call(FakeWorker("w1"));
  fixture.clock.Advance(absl::Seconds(1));
  fixture.Call(FakeWorker("w2"));
  const absl::Status refused = fixture.dispatcher->Synchronize(FakeWorker("w3").request).status();
  CHECK(refused.code() == absl::StatusCode::kResourceExhausted);
  CHECK_THAT(MessageOf(refused), Catch::Contains("2 workers"));
  fixture.clock.Advance(absl::Seconds(1));
  fixture.Call(FakeWorker("w1"));  // those connected go on
  fixture.clock.Advance(kLeaseLifetime);
  fixture.Call(FakeWorker("w3"));
  const v1::ListWorkersResponse workers = fixture.dispatcher->ListWorkers().value();
  REQUIRE(workers.workers_size() == 2);
  CHECK(workers.workers(0).id() == "w1");
  CHECK(workers.workers(1).id() == "w3");
}

TEST_CASE("a call reports at most so many leases") {
  DispatchFixture fixture;
  FakeWorker worker("w1");
  for (int i = 0; i < kReportsMax; ++i) worker.Evaluating(fmt::format("l{}", i));
  CHECK(fixture.Call(worker).abandon_size() == kReportsMax);
  worker.Evaluating("one more");
  CHECK(fixture.dispatcher->Synchronize(worker.request).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("worker and boot ids have a length limit") {
  DispatchFixture fixture;
  CHECK(fixture.dispatcher->Synchronize(FakeWorker(std::string(128, 'w')).request).ok());
  CHECK(fixture.dispatcher->Synchronize(FakeWorker(std::string(129, 'w')).request).status().code() ==
        absl::StatusCode::kInvalidArgument);
  CHECK(fixture.dispatcher->Synchronize(FakeWorker("w", std::string(129, 'b')).request).status().code() ==
        absl::StatusCode::kInvalidArgument);
}

TEST_CASE("large assignments are spread over several answers, each small enough for a client's default limit") {
  DispatchFixture fixture;
  const JobId job = fixture.JobWithAnswers(6);
  for (int prompt = 1; prompt <= 6; ++prompt) {
    fixture.AddCandidate(job, prompt, fmt::format("{}{}", prompt, std::string(400'000, 'x')));
  }
  FakeWorker worker("w1");
  size_t held = 0;
  for (int call = 0; call < 6 && held < 6; ++call) {
    const v1::SynchronizeResponse response = fixture.Call(worker.Wants(static_cast<uint32_t>(6 - held)));
    CHECK(response.ByteSizeLong() < 4u << 20);
    REQUIRE(response.assignments_size() > 0);
    CHECK(response.assignments_size() < 6);
    for (const std::string& lease : LeasesOf(response)) worker.Evaluating(lease);
    held += static_cast<size_t>(response.assignments_size());
  }
  CHECK(held == 6);
}

}  // namespace fsr
