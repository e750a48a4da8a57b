#include "worker/agent/agent.h"

#include <spdlog/spdlog.h>

#include <catch2/catch.hpp>
#include <thread>

#include "common/status.h"
#include "tests/worker/agent/fake_coordinator.h"

namespace fsr {
namespace {

// An agent at work, drained at the end.
struct Fixture {
  explicit Fixture(size_t leases = 3)
      : agent({.worker_id = "w", .boot_id = "b", .lease_count_max = leases}, &evaluator, &coordinator, SystemClock()) {
    spdlog::set_level(spdlog::level::off);
  }
  ~Fixture() { Stop(); }
  void Start() {
    thread = std::thread([this] { ended = agent.Run(); });
  }
  void Stop() {
    evaluator.released_ = true;
    // As the program does it: a call that began just before is interrupted by the next.
    while (thread.joinable() && !joined) {
      agent.Drain();
      if (coordinator.Await([this] { return coordinator.last_.draining(); })) {
        thread.join();
        joined = true;
      }
    }
  }
  FakeCoordinator coordinator;
  FakeEvaluator evaluator;
  Agent agent;
  std::thread thread;
  bool joined = false;
  absl::Status ended;
};

TEST_CASE("an evaluation is fetched, run, reported and forgotten once recorded") {
  Fixture f;
  f.coordinator.Assign("lease1", "right");
  f.Start();
  REQUIRE(f.coordinator.Await([&] { return f.coordinator.finished_.count("lease1") > 0; }));
  // Once recorded, no call names it any more.
  REQUIRE(f.coordinator.Await([&] { return f.coordinator.last_.leases().empty(); }));
  absl::MutexLock lock(&f.coordinator.mutex());
  const v1::Evaluation& evaluation = f.coordinator.finished_["lease1"].at(0);
  CHECK(evaluation.id() == "evaluation of lease1");
  CHECK(evaluation.attempt() == 2);
  CHECK(evaluation.worker() == "w");
  CHECK(evaluation.diagnosis() == "right");
  const v1::SynchronizeRequest& first = f.coordinator.requests_.front();
  CHECK(first.worker_id() == "w");
  CHECK(first.boot_id() == "b");
  CHECK(first.device().kind() == "fake");
  CHECK(first.wanted_leases() == 3);
  CHECK(f.coordinator.last_.statistics().evaluation_count() == 1);
  CHECK(f.coordinator.last_.statistics().child_restart_count() == 7);
}

TEST_CASE("one evaluation is measured at a time while the next ones are prepared") {
  Fixture f;
  for (int i = 0; i < 6; ++i) f.coordinator.Assign("lease" + std::to_string(i), i == 0 ? "hold" : "right");
  f.Start();
  REQUIRE(f.coordinator.Await([&] {
    const auto& last = f.coordinator.last_;
    return last.leases_size() == 3 && last.leases(0).evaluating().phase() == "measure" &&
           last.leases(1).evaluating().phase() == "queue" && last.leases(2).evaluating().phase() == "queue";
  }));
  {
    absl::MutexLock lock(&f.coordinator.mutex());
    // Whatever was prepared first has run before the one that holds.
    CHECK(f.evaluator.prepared_ == 3 + static_cast<int>(f.coordinator.finished_.size()));
    CHECK(f.coordinator.last_.wanted_leases() == 0);
  }
  f.evaluator.released_ = true;
  REQUIRE(f.coordinator.Await([&] { return f.coordinator.finished_.size() == 6; }));
  CHECK(f.evaluator.most_at_once_ == 1);
  absl::MutexLock lock(&f.coordinator.mutex());
  CHECK(f.coordinator.last_.statistics().device_busy_seconds() > 0);
}

TEST_CASE("a coordinator that is away for a while is called again until it answers") {
  Fixture f;
  f.coordinator.Assign("lease1", "right");
  f.coordinator.FailNext(absl::UnavailableError("connection refused"));
  f.coordinator.FailNext(absl::DeadlineExceededError("no answer"));
  f.Start();
  CHECK(f.coordinator.Await([&] { return f.coordinator.finished_.count("lease1") > 0; }));
}

TEST_CASE("a report whose answer was lost is repeated, word for word") {
  Fixture f;
  f.coordinator.LoseNextReportsAnswer();
  f.coordinator.Assign("lease1", "right");
  f.Start();
  REQUIRE(f.coordinator.Await([&] { return f.coordinator.finished_["lease1"].size() == 2; }));
  absl::MutexLock lock(&f.coordinator.mutex());
  const auto& reports = f.coordinator.finished_["lease1"];
  CHECK(reports[0].SerializeAsString() == reports[1].SerializeAsString());
}

TEST_CASE("an abandoned lease is stopped, and never reported") {
  Fixture f(1);
  f.coordinator.Assign("lease1", "hold");
  f.Start();
  REQUIRE(f.coordinator.Await([&] {
    return f.coordinator.last_.leases_size() == 1 && f.coordinator.last_.leases(0).evaluating().phase() == "measure";
  }));
  f.coordinator.Abandon("lease1");
  f.coordinator.Assign("lease2", "right");
  CHECK(f.coordinator.Await([&] { return f.coordinator.finished_.count("lease2") > 0; }));
  absl::MutexLock lock(&f.coordinator.mutex());
  CHECK(f.coordinator.finished_.count("lease1") == 0);
  CHECK(f.coordinator.returned_.count("lease1") == 0);
}

TEST_CASE("what is the task's fault is final, says so with a sentence, and the worker stays healthy") {
  Fixture f;
  f.coordinator.Assign("lease1", "task fault");
  f.coordinator.Assign("lease2", "right");
  f.Start();
  REQUIRE(f.coordinator.Await([&] { return f.coordinator.finished_.size() == 2; }));
  absl::MutexLock lock(&f.coordinator.mutex());
  CHECK(f.coordinator.returned_.empty());
  CHECK(f.coordinator.finished_["lease1"].at(0).outcome() == v1::UNSUPPORTED);
  CHECK(f.coordinator.finished_["lease1"].at(0).signature() == "task_fault");
  CHECK(f.coordinator.finished_["lease1"].at(0).diagnosis() == "the oracle does not compile");
  CHECK(f.coordinator.last_.unhealthy().empty());
}

TEST_CASE("a worker whose device is gone gives everything back and wants nothing") {
  Fixture f;
  f.coordinator.Assign("lease1", "device gone");
  f.Start();
  REQUIRE(f.coordinator.Await([&] { return !f.coordinator.last_.unhealthy().empty(); }));
  absl::MutexLock lock(&f.coordinator.mutex());
  CHECK(f.coordinator.last_.unhealthy() == "the device fell off the bus");
  CHECK(f.coordinator.last_.wanted_leases() == 0);
}

TEST_CASE("a draining worker gives back what it has not finished and ends") {
  Fixture f;
  f.coordinator.Assign("lease1", "hold");
  f.coordinator.Assign("lease2", "right");
  f.Start();
  REQUIRE(f.coordinator.Await([&] {
    return f.coordinator.last_.leases_size() == 2 && f.coordinator.last_.leases(0).evaluating().phase() == "measure";
  }));
  const absl::Time start = absl::Now();
  f.agent.Drain();
  f.thread.join();
  f.joined = true;
  CHECK(absl::Now() - start < absl::Seconds(5));
  CHECK(f.ended.ok());
  absl::MutexLock lock(&f.coordinator.mutex());
  CHECK(f.coordinator.returned_.at("lease1") == "the worker is stopping");
  CHECK(f.coordinator.returned_.at("lease2") == "the worker is stopping");
  CHECK(f.coordinator.last_.draining());
}

TEST_CASE("an idle worker ends its long poll to stop") {
  Fixture f;
  f.Start();
  REQUIRE(f.coordinator.Await([&] { return !f.coordinator.requests_.empty(); }));
  f.Stop();
  CHECK(f.ended.ok());
}

TEST_CASE("a coordinator that refuses the first call ends the worker with its words") {
  Fixture f;
  f.coordinator.FailNext(absl::InvalidArgumentError("worker_id is empty"));
  CHECK(absl::IsInvalidArgument(f.agent.Run()));
}

}  // namespace
}  // namespace fsr
