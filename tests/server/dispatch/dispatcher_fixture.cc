#include "tests/server/dispatch/dispatcher_fixture.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace fsr {

FakeWorker::FakeWorker(std::string worker_id, std::string boot_id) {
  request.set_worker_id(std::move(worker_id));
  request.set_boot_id(std::move(boot_id));
  *request.mutable_device() = SimulatedDevice();
}

FakeWorker& FakeWorker::Wants(uint32_t leases) {
  request.set_wanted_leases(leases);
  return *this;
}

FakeWorker& FakeWorker::Evaluating(const std::string& lease_id) {
  v1::LeaseReport* report = request.add_leases();
  report->set_lease_id(lease_id);
  report->mutable_evaluating()->set_phase("measure");
  return *this;
}

FakeWorker& FakeWorker::Finished(const std::string& lease_id, const v1::Evaluation& result) {
  v1::LeaseReport* report = request.add_leases();
  report->set_lease_id(lease_id);
  *report->mutable_finished() = result;
  return *this;
}

FakeWorker& FakeWorker::Returned(const std::string& lease_id, const std::string& reason) {
  v1::LeaseReport* report = request.add_leases();
  report->set_lease_id(lease_id);
  report->set_returned(reason);
  return *this;
}

FakeWorker& FakeWorker::Draining() {
  request.set_draining(true);
  return *this;
}

FakeWorker& FakeWorker::Unhealthy(const std::string& why) {
  request.set_unhealthy(why);
  return *this;
}

DispatchFixture::DispatchFixture(Dispatcher::Options made_with) : options(std::move(made_with)) { Restart(); }

void DispatchFixture::Restart() {
  dispatcher.reset();
  auto created = Dispatcher::Create(store.get(), &clock, options);
  REQUIRE(created.ok());
  dispatcher = *std::move(created);
}

v1::SynchronizeResponse DispatchFixture::Call(const FakeWorker& worker) {
  auto response = dispatcher->Synchronize(worker.request);
  INFO(response.status());
  REQUIRE(response.ok());
  return *std::move(response);
}

std::vector<std::string> DispatchFixture::Leases(const FakeWorker& worker) { return LeasesOf(Call(worker)); }

JobId DispatchFixture::JobWithWork(int candidate_count) {
  const JobId job = JobWithAnswers(candidate_count);
  for (int prompt = 1; prompt <= candidate_count; ++prompt) AddCandidate(job, prompt, fmt::format("k{}", prompt));
  return job;
}

int DispatchFixture::FinishedCount(JobId job) {
  return static_cast<int>(store->LoadFacts(job).value().job.evaluation_count());
}

std::vector<std::string> LeasesOf(const v1::SynchronizeResponse& response) {
  std::vector<std::string> leases;
  for (const v1::Assignment& assignment : response.assignments()) leases.push_back(assignment.lease_id());
  return leases;
}

std::vector<std::string> Abandoned(const v1::SynchronizeResponse& response) {
  return {response.abandon().begin(), response.abandon().end()};
}

std::vector<std::string> Recorded(const v1::SynchronizeResponse& response) {
  return {response.recorded().begin(), response.recorded().end()};
}

}  // namespace fsr
