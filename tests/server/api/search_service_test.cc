#include <catch2/catch.hpp>

#include "common/task_loader.h"
#include "tests/server/api/api_fixture.h"

namespace fsr {
namespace {

// Right, and the faster the later it is evaluated.
std::function<v1::Evaluation(const v1::Assignment&)> EverFaster() {
  auto count = std::make_shared<std::atomic<int>>(0);
  return [count](const v1::Assignment&) { return Measured(100.0 - ++*count); };
}

std::vector<v1::Event> WatchToTheEnd(Client& client, const std::string& job, uint64_t after = 0) {
  Context context;
  v1::WatchJobRequest request;
  request.set_name(job);
  request.set_after_sequence(after);
  auto reader = client.search->WatchJob(&context, request);
  std::vector<v1::Event> events;
  v1::Event event;
  while (reader->Read(&event)) events.push_back(event);
  const grpc::Status status = reader->Finish();
  INFO(status.error_message());
  CHECK(status.ok());
  return events;
}

}  // namespace

TEST_CASE("a job runs from request to best kernel, and can be watched from any event on") {
  ServerFixture fixture;
  Client& client = *fixture.client;
  Context context;
  v1::Job job;
  REQUIRE(client.search->CreateJob(&context, TransposeJob("r1"), &job).ok());
  CHECK(job.name() == "jobs/transpose-1");
  RemoteWorker worker(fixture.server->address(), EverFaster());
  const std::vector<v1::Event> events = WatchToTheEnd(client, job.name());
  REQUIRE_FALSE(events.empty());
  for (size_t i = 0; i < events.size(); ++i) CHECK(events[i].sequence() == i + 1);
  CHECK(events.back().job_state_changed().job().state() == v1::Job::FINISHED);

  REQUIRE(client.GetJob(job.name(), &job).ok());
  CHECK(job.state() == v1::Job::FINISHED);
  CHECK(job.round_count() == 2);
  CHECK(job.evaluation_count() == job.candidate_count() - job.duplicate_count());
  CHECK(job.speedup() > 1);
  CHECK_FALSE(job.best_source().empty());
  CHECK(job.baseline().outcome() == v1::MEASURED);

  CHECK(WatchToTheEnd(client, job.name(), events.size() - 2).size() == 2);
  CHECK(WatchToTheEnd(client, job.name(), events.size()).empty());

  Context best_context;
  v1::GetBestKernelRequest best_request;
  best_request.set_task("transpose");
  v1::Candidate best;
  REQUIRE(client.search->GetBestKernel(&best_context, best_request, &best).ok());
  CHECK(best.source() == job.best_source());
}

TEST_CASE("the same request id gives the same job, also after a restart of the server") {
  ServerFixture fixture;
  v1::Job first, again;
  Context context;
  REQUIRE(fixture.client->search->CreateJob(&context, TransposeJob("r1"), &first).ok());
  fixture.Restart();
  Context after;
  REQUIRE(fixture.client->search->CreateJob(&after, TransposeJob("r1"), &again).ok());
  CHECK(again.name() == first.name());
  Context other_context;
  v1::CreateJobRequest other = TransposeJob("r1");
  other.mutable_options()->set_round_count_max(7);
  CHECK(fixture.client->search->CreateJob(&other_context, other, &again).error_code() ==
        grpc::StatusCode::ALREADY_EXISTS);
}

TEST_CASE("a job is cancelled once; what is asked of it afterwards says so") {
  ServerFixture fixture;
  v1::Job job;
  Context create, cancel, again;
  REQUIRE(fixture.client->search->CreateJob(&create, TransposeJob(), &job).ok());
  v1::CancelJobRequest request;
  request.set_name(job.name());
  REQUIRE(fixture.client->search->CancelJob(&cancel, request, &job).ok());
  CHECK(job.state() == v1::Job::CANCELLED);
  const grpc::Status refused = fixture.client->search->CancelJob(&again, request, &job);
  CHECK(refused.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK_THAT(refused.error_message(), Catch::Contains("already ended"));
  CHECK(WatchToTheEnd(*fixture.client, "jobs/transpose-1").back().job_state_changed().job().state() ==
        v1::Job::CANCELLED);
}

TEST_CASE("what is not there is NOT_FOUND, with the way to what there is") {
  ServerFixture fixture;
  v1::Job job;
  const grpc::Status status = fixture.client->GetJob("jobs/nothing-1", &job);
  CHECK(status.error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK_THAT(status.error_message(), Catch::Contains("fsr jobs"));
  Context watch;
  v1::WatchJobRequest request;
  request.set_name("jobs/nothing-1");
  v1::Event event;
  auto reader = fixture.client->search->WatchJob(&watch, request);
  CHECK_FALSE(reader->Read(&event));
  CHECK(reader->Finish().error_code() == grpc::StatusCode::NOT_FOUND);
}

TEST_CASE("a request that can never work is INVALID_ARGUMENT") {
  ServerFixture fixture;
  v1::Job job;
  Context context;
  v1::CreateJobRequest request = TransposeJob();
  request.mutable_task()->clear_parameters();
  CHECK(fixture.client->search->CreateJob(&context, request, &job).error_code() == grpc::StatusCode::INVALID_ARGUMENT);

  v1::EvaluateRequest evaluate;
  *evaluate.mutable_task() = TransposeTask();
  evaluate.set_source("__global__ void transpose() {}");
  v1::Evaluation evaluation;
  Context no_device;
  CHECK(fixture.client->search->Evaluate(&no_device, evaluate, &evaluation).error_code() ==
        grpc::StatusCode::INVALID_ARGUMENT);
  evaluate.set_device_kind("sim:h200");
  evaluate.set_source(std::string((512 << 10) + 1, ' '));
  Context too_long;
  const grpc::Status status = fixture.client->search->Evaluate(&too_long, evaluate, &evaluation);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(status.error_message(), Catch::Contains("524289"));
}

TEST_CASE("one kernel is evaluated without a search, beside the baseline") {
  ServerFixture fixture;
  v1::EvaluationSpec seen;
  RemoteWorker worker(fixture.server->address(), [&](const v1::Assignment& assignment) {
    seen = assignment.spec();
    return Measured(12);
  });
  v1::EvaluateRequest request;
  *request.mutable_task() = TransposeTask();
  request.set_source("__global__ void transpose() {}");
  request.set_device_kind("sim:h200");
  request.set_seed(UINT64_MAX);
  v1::Evaluation evaluation;
  Context context;
  REQUIRE(fixture.client->search->Evaluate(&context, request, &evaluation).ok());
  CHECK(evaluation.measurement().latency_us() == 12);
  CHECK(evaluation.worker() == "w1");
  CHECK(seen.source() == request.source());
  CHECK(seen.seed() == UINT64_MAX);
  CHECK(TaskHash(seen.task()) == TaskHash(request.task()));
  REQUIRE(seen.references_size() == 1);
  CHECK(seen.references(0).against() == v1::Comparison::BASELINE);
}

TEST_CASE("workers and tasks are listed") {
  ServerFixture fixture;
  v1::Job job;
  Context create, list_workers, list_tasks, synchronize;
  REQUIRE(fixture.client->search->CreateJob(&create, TransposeJob(), &job).ok());
  v1::SynchronizeRequest worker;
  worker.set_worker_id("w9");
  worker.set_boot_id("boot");
  *worker.mutable_device() = RealDevice();
  v1::SynchronizeResponse answer;
  REQUIRE(fixture.client->work->Synchronize(&synchronize, worker, &answer).ok());
  v1::ListWorkersResponse workers;
  REQUIRE(fixture.client->search->ListWorkers(&list_workers, {}, &workers).ok());
  REQUIRE(workers.workers_size() == 1);
  CHECK(workers.workers(0).id() == "w9");
  v1::ListTasksResponse tasks;
  REQUIRE(fixture.client->search->ListTasks(&list_tasks, {}, &tasks).ok());
  REQUIRE(tasks.tasks_size() == 1);
  CHECK(tasks.tasks(0).name() == "transpose");
}

}  // namespace fsr
