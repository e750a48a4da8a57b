// A whole job through real processes.
#include <catch2/catch.hpp>
#include <set>

#include "common/files.h"
#include "tests/integration/stack.h"

namespace fsr {

TEST_CASE("a job ends with a kernel that is right and faster than the baseline, every candidate evaluated once") {
  Stack stack;
  stack.StartCoordinator();
  stack.StartWorker();
  stack.StartWorker();
  auto created = stack.client().CreateJob(TuneJob(3, 4, 5));
  REQUIRE(created.ok());
  const v1::Job job = stack.AwaitEnd(created->name());
  CHECK(job.state() == v1::Job::FINISHED);
  CHECK(job.round_count() == 3);
  CHECK(job.candidate_count() == 12);
  CHECK(job.evaluation_count() + job.duplicate_count() == job.candidate_count());
  CHECK(job.estimated());
  CHECK(job.speedup() > 1);
  CHECK(job.speedup() == Approx(job.baseline_latency_us() / job.best_latency_us()));

  auto candidates = stack.client().ListCandidates(job.name());
  REQUIRE(candidates.ok());
  REQUIRE(candidates->candidates_size() == 12);
  double fastest = 1e30;
  std::set<std::string> hashes;
  for (const v1::Candidate& candidate : candidates->candidates()) {
    if (candidate.evaluation().outcome() == v1::MEASURED) {
      fastest = std::min(fastest, candidate.evaluation().measurement().latency_us());
    }
    if (candidate.duplicate_of().empty()) CHECK(hashes.insert(candidate.source_hash()).second);
  }
  CHECK(job.best_latency_us() == Approx(fastest));

  // The answer stands on its own.
  v1::EvaluateRequest again;
  *again.mutable_task() = SmallTranspose();
  again.set_source(job.best_source());
  again.set_device_kind("sim:h200");
  auto evaluation = stack.client().Evaluate(again);
  REQUIRE(evaluation.ok());
  CHECK(evaluation->outcome() == v1::MEASURED);
  CHECK(evaluation->measurement().latency_us() == Approx(job.best_latency_us()));

  v1::GetBestKernelRequest best;
  best.set_task("transpose");
  auto kernel = stack.client().GetBestKernel(best);
  REQUIRE(kernel.ok());
  CHECK(kernel->source() == job.best_source());
}

TEST_CASE("a recorded dialogue passes through every branch, and the dialogue can be read in order") {
  Stack stack;
  stack.StartCoordinator();
  stack.StartWorker();
  v1::CreateJobRequest request = TuneJob(0, 0, 1);
  request.mutable_options()->Clear();
  request.mutable_generator()->set_name("replay");
  auto recording = ReadFile(std::filesystem::path(FSR_SOURCE_DIR) / "tasks/transpose/recording.json", 16 << 20);
  REQUIRE(recording.ok());
  (*request.mutable_generator()->mutable_options())["recording"] = *recording;
  auto created = stack.client().CreateJob(request);
  REQUIRE(created.ok());
  const v1::Job job = stack.AwaitEnd(created->name());
  CHECK(job.state() == v1::Job::FINISHED);

  auto candidates = stack.client().ListCandidates(job.name());
  REQUIRE(candidates.ok());
  std::vector<v1::Outcome> outcomes;
  std::vector<double> incumbents;
  for (const v1::Candidate& candidate : candidates->candidates()) {
    outcomes.push_back(candidate.evaluation().outcome());
    if (candidate.incumbent()) incumbents.push_back(candidate.evaluation().measurement().latency_us());
  }
  const std::vector<v1::Outcome> expected = {v1::COMPILE_ERROR, v1::RUNTIME_FAULT, v1::MISMATCH,
                                             v1::MEASURED,      v1::MEASURED,      v1::MEASURED};
  CHECK(outcomes == expected);
  REQUIRE(incumbents.size() == 3);
  CHECK(incumbents[1] < incumbents[0]);
  CHECK(incumbents[2] < incumbents[1]);

  v1::GetDialogueRequest ask;
  ask.set_job(job.name());
  auto dialogue = stack.client().GetDialogue(ask);
  REQUIRE(dialogue.ok());
  std::vector<v1::Branch> branches;
  for (const v1::Message& message : dialogue->messages()) {
    if (message.role() == v1::Message::USER) branches.push_back(message.branch());
  }
  const std::vector<v1::Branch> in_order = {v1::TASK,        v1::COMPILE_FAILURE, v1::RUN_FAILURE, v1::MISMATCH_FAILURE,
                                            v1::PERFORMANCE, v1::PERFORMANCE};
  REQUIRE(branches.size() >= in_order.size());
  CHECK(std::vector<v1::Branch>(branches.begin(), branches.begin() + static_cast<long>(in_order.size())) == in_order);
}

TEST_CASE("a watcher that comes back continues where it was, and sees every event once") {
  Stack stack;
  stack.StartCoordinator();
  stack.StartWorker();
  auto created = stack.client().CreateJob(TuneJob(2, 3, 9));
  REQUIRE(created.ok());
  uint64_t last = 0;
  int seen = 0;
  // The first watcher leaves after five events.
  REQUIRE(stack.client()
              .WatchJob(created->name(), 0,
                        [&](const v1::Event& event) {
                          CHECK(event.sequence() == last + 1);
                          last = event.sequence();
                          return ++seen < 5;
                        })
              .ok());
  REQUIRE(stack.client()
              .WatchJob(created->name(), last,
                        [&](const v1::Event& event) {
                          CHECK(event.sequence() == last + 1);
                          last = event.sequence();
                          return true;
                        })
              .ok());
  auto job = stack.client().GetJob(created->name());
  REQUIRE(job.ok());
  CHECK(job->state() == v1::Job::FINISHED);
  int all = 0;
  REQUIRE(stack.client().WatchJob(created->name(), 0, [&](const v1::Event&) { return ++all > 0; }).ok());
  CHECK(static_cast<uint64_t>(all) == last);
}

TEST_CASE("the same request gives the same job, another one under its id is refused") {
  Stack stack;
  stack.StartCoordinator();
  const v1::CreateJobRequest request = TuneJob(2, 3, 9);
  auto first = stack.client().CreateJob(request), second = stack.client().CreateJob(request);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->name() == second->name());
  v1::CreateJobRequest other = request;
  other.mutable_options()->set_round_count_max(7);
  CHECK(stack.client().CreateJob(other).status().code() == absl::StatusCode::kAlreadyExists);
}

TEST_CASE("a cancelled job stops, keeps what it found, and cannot be cancelled twice") {
  Stack stack;
  stack.StartCoordinator();
  stack.StartWorker();
  auto created = stack.client().CreateJob(TuneJob(1000, 2, 9));
  REQUIRE(created.ok());
  REQUIRE(stack.client()
              .WatchJob(created->name(), 0, [](const v1::Event& event) { return !event.has_incumbent_changed(); })
              .ok());
  REQUIRE(stack.client().CancelJob(created->name()).ok());
  const v1::Job job = stack.AwaitEnd(created->name());
  CHECK(job.state() == v1::Job::CANCELLED);
  CHECK_FALSE(job.best_candidate().empty());
  CHECK(stack.client().CancelJob(created->name()).status().code() == absl::StatusCode::kFailedPrecondition);
}

}  // namespace fsr
