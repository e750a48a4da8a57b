// What tests of the server start from: a store, a task, a job in any state, results.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "server/store/store.h"

namespace fsr {

// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;  // owns the folder
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

v1::Task SomeTask(const std::string& name = "transpose");
v1::CreateJobRequest SomeRequest(const std::string& request_id = "", const std::string& task = "transpose");
v1::EvaluationSpec SomeSpec(const std::string& source, uint64_t seed = 7);
v1::DeviceFacts SimulatedDevice();  // of kind "sim:h200"
v1::DeviceFacts RealDevice();       // of kind "nvidia-h200"
v1::Evaluation Measured(double latency_us, const v1::DeviceFacts& device = SimulatedDevice());
v1::Evaluation Failed(v1::Outcome outcome);

// A store in memory with a clock that moves when told to. REQUIREs that what it does works.
struct StoreFixture {
  explicit StoreFixture(Store::Options options = {});

  JobId NewJob(const v1::CreateJobRequest& request = SomeRequest());
  // A running job with one round of answered first prompts.
  JobId JobWithAnswers(int prompt_count);
  void AddCandidate(JobId job, int prompt, const std::string& source, int duplicate_of = 0);
  // Hands out the next evaluation and finishes it; the evaluation's id.
  EvaluationId FinishNext(const v1::Evaluation& result);
  v1::Assignment LeaseNext(const std::string& lease_id, const std::string& worker_id = "w1");
  std::string NameOfJob(JobId job);
  std::vector<v1::Event> Events(JobId job);

  FakeClock clock;
  std::unique_ptr<Store> store;
  int lease_count = 0;
};

}  // namespace fsr
