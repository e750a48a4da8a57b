#include "tests/server/store/store_fixture.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <catch2/catch.hpp>

#include "common/status.h"

namespace fsr {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "fsr_test_XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

v1::Task SomeTask(const std::string& name) {
  v1::Task task;
  task.set_name(name);
  task.set_description("Turns rows into columns.");
  task.set_oracle_source("__global__ void oracle(float* output) {}");
  return task;
}

v1::CreateJobRequest SomeRequest(const std::string& request_id, const std::string& task) {
  v1::CreateJobRequest request;
  request.set_request_id(request_id);
  *request.mutable_task() = SomeTask(task);
  request.set_device_kind("sim:h200");
  request.mutable_generator()->set_name("tune");
  request.mutable_options()->set_round_count_max(4);
  request.mutable_options()->set_seed(11);
  (*request.mutable_prompt_templates())["task.mustache"] = "Write {{name}}.";
  return request;
}

v1::EvaluationSpec SomeSpec(const std::string& source, uint64_t seed) {
  v1::EvaluationSpec spec;
  spec.set_source(source);
  spec.set_seed(seed);
  return spec;
}

v1::DeviceFacts SimulatedDevice() {
  v1::DeviceFacts device;
  device.set_kind("sim:h200");
  device.set_simulated(true);
  return device;
}

v1::DeviceFacts RealDevice() {
  v1::DeviceFacts device;
  device.set_kind("nvidia-h200");
  return device;
}

v1::Evaluation Measured(double latency_us, const v1::DeviceFacts& device) {
  v1::Evaluation evaluation;
  evaluation.set_outcome(v1::MEASURED);
  evaluation.mutable_measurement()->set_latency_us(latency_us);
  evaluation.mutable_measurement()->set_estimated(device.simulated());
  *evaluation.mutable_measurement()->mutable_device() = device;
  return evaluation;
}

v1::Evaluation Failed(v1::Outcome outcome) {
  v1::Evaluation evaluation;
  evaluation.set_outcome(outcome);
  evaluation.set_diagnosis("It does not work.");
  return evaluation;
}

StoreFixture::StoreFixture(Store::Options options) {
  auto opened = Store::Open(":memory:", &clock, options);
  INFO(opened.status());
  REQUIRE(opened.ok());
  store = *std::move(opened);
}

JobId StoreFixture::NewJob(const v1::CreateJobRequest& request) {
  auto created = store->CreateJob(request, "prompts");
  INFO(created.status());
  REQUIRE(created.ok());
  return store->FindJob(created->job.name()).value();
}

JobId StoreFixture::JobWithAnswers(int prompt_count) {
  const JobId job = NewJob();
  REQUIRE(store->StartJob(job).ok());
  std::vector<NewPrompt> prompts(static_cast<size_t>(prompt_count));
  for (NewPrompt& prompt : prompts) prompt = {.system_text = "You write kernels.", .user_text = "Write one."};
  REQUIRE(store->StartRound(job, 1, prompts).ok());
  for (int number = 1; number <= prompt_count; ++number) {
    REQUIRE(store->StoreCompletion(job, number, fmt::format("answer {}", number), "first").ok());
  }
  return job;
}

void StoreFixture::AddCandidate(JobId job, int prompt, const std::string& source, int duplicate_of) {
  NewCandidate candidate{.prompt = prompt, .source = source, .source_hash = "hash of " + source};
  candidate.duplicate_of = duplicate_of;
  if (duplicate_of == 0) candidate.spec = SomeSpec(source);
  const absl::Status added = store->AddCandidate(job, candidate);
  INFO(added);
  REQUIRE(added.ok());
}

v1::Assignment StoreFixture::LeaseNext(const std::string& lease_id, const std::string& worker_id) {
  auto leased = store->Lease(SimulatedDevice(), worker_id, "boot", lease_id);
  INFO(leased.status());
  REQUIRE(leased.ok());
  REQUIRE(leased->has_value());
  return **leased;
}

EvaluationId StoreFixture::FinishNext(const v1::Evaluation& result) {
  const v1::Assignment assignment = LeaseNext(fmt::format("lease-{}", ++lease_count));
  auto finished = store->Finish(assignment.lease_id(), result);
  INFO(finished.status());
  REQUIRE(finished.ok());
  REQUIRE(*finished);
  return std::stoll(assignment.evaluation_id());
}

std::string StoreFixture::NameOfJob(JobId job) { return store->LoadFacts(job).value().job.name(); }

std::vector<v1::Event> StoreFixture::Events(JobId job) { return store->EventsAfter(job, 0, 1000).value(); }

}  // namespace fsr
