// kill -9 of any process at any point of a job: the job ends with the same answer, and nothing is lost or counted
// twice.
#include <catch2/catch.hpp>
#include <map>

#include "common/clock.h"
#include "common/daemon.h"
#include "common/random.h"
#include "tests/integration/stack.h"

namespace fsr {
namespace {

constexpr int kRounds = 4, kCandidates = 4;
constexpr uint64_t kSeed = 77;

// What must not depend on when a process was killed.
struct Answer {
  std::string source;
  double latency_us = 0;
  std::vector<std::string> hashes;
};

Answer AnswerOf(Stack& stack, const v1::Job& job) {
  CHECK(job.state() == v1::Job::FINISHED);
  CHECK(job.candidate_count() == kRounds * kCandidates);
  CHECK(job.evaluation_count() + job.duplicate_count() == job.candidate_count());
  Answer answer{job.best_source(), job.best_latency_us(), {}};
  auto candidates = stack.client().ListCandidates(job.name());
  REQUIRE(candidates.ok());
  for (const v1::Candidate& candidate : candidates->candidates()) {
    answer.hashes.push_back(candidate.source_hash());
    CHECK(candidate.evaluation().outcome() != v1::OUTCOME_UNSPECIFIED);
  }
  // Every evaluation is told once.
  std::map<std::string, int> told;
  REQUIRE(stack.client()
              .WatchJob(job.name(), 0,
                        [&](const v1::Event& event) {
                          if (event.has_candidate_evaluated()) ++told[event.candidate_evaluated().candidate().name()];
                          return true;
                        })
              .ok());
  CHECK(told.size() == answer.hashes.size());
  for (const auto& [name, count] : told) CHECK(count == 1);
  return answer;
}

Answer Undisturbed() {
  Stack stack;
  stack.StartCoordinator();
  stack.StartWorker();
  auto created = stack.client().CreateJob(TuneJob(kRounds, kCandidates, kSeed));
  REQUIRE(created.ok());
  return AnswerOf(stack, stack.AwaitEnd(created->name()));
}

void Pause(SplitMix64& random, double seconds_max) {
  SystemClock()->Sleep(absl::Seconds(seconds_max * random.Uniform()));
}

}  // namespace

TEST_CASE("killing the coordinator and the workers at random points changes nothing in the answer") {
  const Answer expected = Undisturbed();
  for (uint64_t trial = 1; trial <= 3; ++trial) {
    INFO("trial " << trial);
    SplitMix64 random(trial);
    Stack stack;
    stack.StartCoordinator();
    stack.StartWorker();
    stack.StartWorker();
    auto created = stack.client().CreateJob(TuneJob(kRounds, kCandidates, kSeed));
    REQUIRE(created.ok());
    for (int kill = 0; kill < 6; ++kill) {
      Pause(random, 0.6);
      switch (random.Below(3)) {
        case 0:
          stack.KillCoordinator();
          Pause(random, 0.2);
          stack.StartCoordinator();
          break;
        default: {
          const size_t victim = random.Below(2);
          stack.KillWorker(victim);
          Pause(random, 0.2);
          stack.RestartWorker(victim);
        }
      }
    }
    const Answer answer = AnswerOf(stack, stack.AwaitEnd(created->name()));
    CHECK(answer.source == expected.source);
    CHECK(answer.latency_us == Approx(expected.latency_us));
    CHECK(answer.hashes == expected.hashes);
  }
}

TEST_CASE("a worker that is killed and never comes back costs time, not the job") {
  Stack stack;
  stack.StartCoordinator();
  const size_t victim = stack.StartWorker();
  auto created = stack.client().CreateJob(TuneJob(2, 3, kSeed));
  REQUIRE(created.ok());
  REQUIRE(stack.client()
              .WatchJob(created->name(), 0, [](const v1::Event& event) { return !event.has_round_started(); })
              .ok());
  stack.KillWorker(victim);
  stack.StartWorker();
  const v1::Job job = stack.AwaitEnd(created->name());
  CHECK(job.state() == v1::Job::FINISHED);
  CHECK(job.evaluation_count() + job.duplicate_count() == 6);
}

TEST_CASE("a second coordinator on the same database is refused and disturbs nothing") {
  Stack stack;
  stack.StartCoordinator();
  auto second = Subprocess::Start(
      {.argv = {std::string(FSR_BIN_DIR) + "/fsrd", "--listen", "127.0.0.1:0", "--database", stack.database().string()},
       .stdout_path = "/dev/null",
       .stderr_path = (stack.folder() / "second.log").string()});
  REQUIRE(second.ok());
  auto ended = (*second)->Wait(absl::Seconds(30));
  REQUIRE(ended.has_value());
  CHECK(ended->code == kExitDatabaseInUse);
  CHECK(stack.client().Reach(absl::Seconds(5)).ok());
}

}  // namespace fsr
