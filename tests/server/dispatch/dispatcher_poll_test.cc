// Long polls. With a clock that only moves when told, a poll does not wait; those that do use the system's clock.
#include <catch2/catch.hpp>
#include <thread>

#include "tests/server/dispatch/dispatcher_fixture.h"

namespace fsr {
namespace {

// Real time: what waits here is woken long before.
struct Polling {
  explicit Polling(Dispatcher::Options options = {}) {
    store = Store::Open(":memory:", SystemClock()).value();
    dispatcher = Dispatcher::Create(store.get(), SystemClock(), options).value();
  }
  EvaluationId Enqueue() {
    v1::EvaluationSpec spec = SomeSpec("one file");
    *spec.mutable_task() = SomeTask();
    return store->EnqueueSingle(spec, "sim:h200").value();
  }
  std::unique_ptr<Store> store;
  std::unique_ptr<Dispatcher> dispatcher;
};

// Until the server says that the worker's call has begun.
void AwaitCall(Dispatcher& dispatcher, const std::string& worker_id) {
  for (int i = 0; i < 2000; ++i) {
    const v1::ListWorkersResponse response = dispatcher.ListWorkers().value();
    for (const v1::Worker& worker : response.workers()) {
      if (worker.id() == worker_id) return;
    }
    SystemClock()->Sleep(absl::Milliseconds(1));
  }
  FAIL("the call did not begin");
}

}  // namespace

TEST_CASE("an idle worker that finds nothing is told to call again at once") {
  DispatchFixture fixture;
  const v1::SynchronizeResponse response = fixture.Call(FakeWorker("w1").Wants(1));
  CHECK(response.assignments().empty());
  CHECK(response.next_contact_seconds() == 0);
}

TEST_CASE("every other call is told when to call next, well before its leases run out") {
  DispatchFixture fixture({.lease_lifetime = absl::Seconds(4)});
  fixture.JobWithWork(1);
  const v1::SynchronizeResponse response = fixture.Call(FakeWorker("w1").Wants(1));
  REQUIRE(response.assignments_size() == 1);
  CHECK(response.next_contact_seconds() == 1);
  CHECK(fixture.Call(FakeWorker("w2").Draining()).next_contact_seconds() > 0);
}

TEST_CASE("a waiting worker gets work as soon as there is some") {
  Polling polling;
  v1::SynchronizeResponse response;
  std::thread worker([&] { response = polling.dispatcher->Synchronize(FakeWorker("w1").Wants(1).request).value(); });
  AwaitCall(*polling.dispatcher, "w1");
  polling.Enqueue();
  worker.join();
  REQUIRE(response.assignments_size() == 1);
  CHECK(response.assignments(0).spec().source() == "one file");
}

TEST_CASE("a waiting worker gets what another one lost, without anybody else calling") {
  Polling polling({.lease_lifetime = absl::Milliseconds(50)});
  polling.Enqueue();
  REQUIRE(polling.dispatcher->Synchronize(FakeWorker("w1").Wants(1).request).value().assignments_size() == 1);
  const auto response = polling.dispatcher->Synchronize(FakeWorker("w2").Wants(1).request).value();
  REQUIRE(response.assignments_size() == 1);
  CHECK(response.assignments(0).attempt() == 2);
}

TEST_CASE("a poll ends when its time is over") {
  Polling polling({.long_poll_max = absl::Milliseconds(20)});
  const absl::Time begun = SystemClock()->Now();
  CHECK(polling.dispatcher->Synchronize(FakeWorker("w1").Wants(1).request).value().assignments().empty());
  CHECK(SystemClock()->Now() - begun >= absl::Milliseconds(20));
}

TEST_CASE("a worker that waits is not lost however long it waits") {
  Polling polling({.lease_lifetime = absl::Milliseconds(10), .long_poll_max = absl::Milliseconds(100)});
  std::thread worker([&] { (void)polling.dispatcher->Synchronize(FakeWorker("w1").Wants(1).request); });
  AwaitCall(*polling.dispatcher, "w1");
  SystemClock()->Sleep(absl::Milliseconds(40));
  CHECK_FALSE(polling.dispatcher->ListWorkers().value().workers(0).lost());
  worker.join();
}

TEST_CASE("stopping ends the polls, and later calls are told to come again") {
  Polling polling;
  absl::Status status;
  std::thread worker([&] { status = polling.dispatcher->Synchronize(FakeWorker("w1").Wants(1).request).status(); });
  AwaitCall(*polling.dispatcher, "w1");
  polling.dispatcher->Stop();
  worker.join();
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(polling.dispatcher->Synchronize(FakeWorker("w1").request).status().code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("a worker that calls again takes nothing with its older call") {
  Polling polling;
  v1::SynchronizeResponse older;
  std::thread first([&] { older = polling.dispatcher->Synchronize(FakeWorker("w1").Wants(1).request).value(); });
  AwaitCall(*polling.dispatcher, "w1");
  // Reports that it is busy with something unknown, so this call does not wait; then there is work.
  REQUIRE(polling.dispatcher->Synchronize(FakeWorker("w1").Evaluating("x").request).ok());
  polling.Enqueue();
  first.join();
  CHECK(older.assignments().empty());
  CHECK(polling.dispatcher->Synchronize(FakeWorker("w2").Wants(1).request).value().assignments_size() == 1);
}

TEST_CASE("nothing is handed out to a client that has gone") {
  Polling polling({.long_poll_max = absl::Milliseconds(10)});
  polling.Enqueue();
  const auto gone = [] { return true; };
  CHECK(polling.dispatcher->Synchronize(FakeWorker("w1").Wants(1).request, gone).value().assignments().empty());
  CHECK(polling.store->OpenAttempts().value().empty());
}

TEST_CASE("more idle workers than may wait are told to call again later") {
  Polling polling({.long_polls_max = 1});
  std::thread waiting([&] { (void)polling.dispatcher->Synchronize(FakeWorker("w1").Wants(1).request); });
  AwaitCall(*polling.dispatcher, "w1");
  SystemClock()->Sleep(absl::Milliseconds(20));  // from its entry into the list to its wait
  const auto response = polling.dispatcher->Synchronize(FakeWorker("w2").Wants(1).request).value();
  CHECK(response.next_contact_seconds() > 0);
  polling.dispatcher->Stop();
  waiting.join();
}

}  // namespace fsr
