// Compiles the kernel files of a task and runs them on a simulated device, case by case, without the judge.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "fsr/v1/task.pb.h"
#include "tests/worker/tasks/cpu_oracles.h"
#include "worker/compile/compiler.h"
#include "worker/device/device.h"

namespace fsr {

class TaskBench {
 public:
  // `task` must outlive it. What does not compile or load fails the test.
  TaskBench(const v1::Task& task, const std::string& source, const std::string& file_name);

  struct Result {
    CaseNumbers numbers;                     // what it ran on
    std::map<std::string, Numbers> outputs;  // what it wrote
  };
  // A kernel that breaks, changes an input or writes beside a buffer fails the test.
  Result Run(const v1::Case& which, uint64_t seed);

 private:
  const v1::Task& task_;
  LaunchPlan plan_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceModule> module_;
};

}  // namespace fsr
