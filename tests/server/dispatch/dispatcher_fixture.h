// A dispatcher over a store in memory, and the calls of workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/dispatch/dispatcher.h"
#include "tests/server/store/store_fixture.h"

namespace fsr {

// One worker's side: repeats what it is, and reports what it is told to.
struct FakeWorker {
  explicit FakeWorker(std::string worker_id, std::string boot_id = "boot-1");
  FakeWorker& Wants(uint32_t leases);
  FakeWorker& Evaluating(const std::string& lease_id);
  FakeWorker& Finished(const std::string& lease_id, const v1::Evaluation& result);
  FakeWorker& Returned(const std::string& lease_id, const std::string& reason);
  FakeWorker& Draining();
  FakeWorker& Unhealthy(const std::string& why);
  v1::SynchronizeRequest request;
};

struct DispatchFixture : StoreFixture {
  explicit DispatchFixture(Dispatcher::Options options = {});

  // Begins anew over the same store, as after a restart of the server.
  void Restart();
  v1::SynchronizeResponse Call(const FakeWorker& worker);
  // The lease ids handed out to it, as it wants.
  std::vector<std::string> Leases(const FakeWorker& worker);
  // A job with so many candidates waiting.
  JobId JobWithWork(int candidate_count);
  int FinishedCount(JobId job);

  Dispatcher::Options options;
  std::unique_ptr<Dispatcher> dispatcher;
};

std::vector<std::string> LeasesOf(const v1::SynchronizeResponse& response);
std::vector<std::string> Abandoned(const v1::SynchronizeResponse& response);
std::vector<std::string> Recorded(const v1::SynchronizeResponse& response);

}  // namespace fsr
