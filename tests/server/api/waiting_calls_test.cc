// Calls that wait: clients that go, a server that stops, and how many there may be.
#include <catch2/catch.hpp>

#include "server/api/single_evaluation.h"
#include "tests/server/api/api_fixture.h"

namespace fsr {
namespace {

v1::EvaluateRequest SomeEvaluation() {
  v1::EvaluateRequest request;
  *request.mutable_task() = TransposeTask();
  request.set_source("__global__ void transpose() {}");
  request.set_device_kind("sim:h200");
  return request;
}

}  // namespace

TEST_CASE("watchers of a running job are told that the server stops, and go on after its restart") {
  ServerFixture fixture;
  v1::Job job;
  Context create, watch;
  REQUIRE(fixture.client->search->CreateJob(&create, TransposeJob(), &job).ok());
  v1::WatchJobRequest request;
  request.set_name(job.name());
  auto reader = fixture.client->search->WatchJob(&watch, request);
  v1::Event event;
  REQUIRE(reader->Read(&event));
  CHECK(event.sequence() == 1);
  std::thread stopper([&] { fixture.server->Stop(); });
  uint64_t last = event.sequence();
  while (reader->Read(&event)) last = event.sequence();
  CHECK(reader->Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
  stopper.join();

  fixture.Restart();
  RemoteWorker worker(fixture.server->address(), [](const v1::Assignment&) { return Measured(5); });
  Context again;
  request.set_after_sequence(last);
  reader = fixture.client->search->WatchJob(&again, request);
  uint64_t expected = last;
  while (reader->Read(&event)) CHECK(event.sequence() == ++expected);
  CHECK(reader->Finish().ok());
  CHECK(event.job_state_changed().job().state() == v1::Job::FINISHED);
}

TEST_CASE("a waiting evaluation ends with UNAVAILABLE when the server stops, and is not handed out later") {
  ServerFixture fixture;
  grpc::Status status;
  std::thread caller([&] {
    Context context;
    v1::Evaluation evaluation;
    status = fixture.client->search->Evaluate(&context, SomeEvaluation(), &evaluation);
  });
  SystemClock()->Sleep(absl::Milliseconds(300));  // until it has most likely begun; either way the same must hold
  fixture.server->Stop();
  caller.join();
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  fixture.server.reset();
  auto store = Store::Open(fixture.folder / "fsr.db", SystemClock()).value();
  CHECK(store->Lease(SimulatedDevice(), "w", "b", "l").value() == std::nullopt);
}

TEST_CASE("an evaluation whose client goes is cancelled") {
  FakeClock clock;
  auto store = Store::Open(":memory:", &clock).value();
  Waiting waiting(&store->changes(), 1);
  int asked = 0;
  const auto result = EvaluateSingle(SomeEvaluation(), store.get(), &clock, &waiting, [&] { return ++asked > 1; });
  CHECK(result.status().code() == absl::StatusCode::kCancelled);
  CHECK(store->Lease(SimulatedDevice(), "w", "b", "l").value() == std::nullopt);
}

TEST_CASE("as many calls may wait as the limit says, and a place that is given up is free again") {
  FakeClock clock;
  ChangeSignal changes(&clock);
  Waiting waiting(&changes, 2);
  auto first = std::make_unique<Waiting::Place>(&waiting);
  Waiting::Place second(&waiting);
  CHECK(first->Check().ok());
  CHECK(second.Check().ok());
  CHECK(Waiting::Place(&waiting).Check().code() == absl::StatusCode::kResourceExhausted);
  first.reset();
  CHECK(Waiting::Place(&waiting).Check().ok());
  waiting.Stop();
  CHECK(second.Check().code() == absl::StatusCode::kUnavailable);
}

}  // namespace fsr
