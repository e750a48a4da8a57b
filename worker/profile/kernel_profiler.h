// Why is the kernel as fast as it is? Counters, hints and executed instructions of a plan on a GPU, after it was timed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/task.pb.h"
#include "worker/device/cuda/cuda_device.h"
#include "worker/profile/counter_set.h"

namespace fsr {

// A plan is run about a dozen times more; one that would take longer than this together is not profiled.
inline constexpr double kProfileSecondsMax = 10;
// Where CUPTI's and the events' times differ by more than both (and, with one kernel, than what a launch costs), a hint
// says so.
inline constexpr double kActivityShareMax = 0.05;
inline constexpr double kActivityDifferenceUsMax = 1;

struct ProfileReport {
  std::vector<v1::Counter> counters;
  std::vector<std::string> hints;
  std::string limited_by;  // empty if unknown
  // Warp-level executions by prefix that the task asks for. One that the GPU cannot count is missing, and a hint says
  // so.
  std::map<std::string, uint64_t> executed_instructions;
};

struct ProfileRequest {
  cuda::PreparedPlan* plan = nullptr;
  // Queues what a timed run has before it: fresh inputs, poisoned outputs, an overwritten L2 cache.
  std::function<absl::Status()> before;
  ProfiledPlan facts;
  std::vector<std::string> instructions;  // by PTX prefix: executions to be counted
  absl::Duration run_limit = absl::Seconds(10);
};

// Sets what the task and its case say: least_bytes, flops and the types.
void DescribeWork(const v1::Task& task, const v1::Case& which, ProfiledPlan* plan);

// Never fails: what could not be had is said in a hint. The device may be broken afterwards, if the kernel broke it.
ProfileReport ProfileKernel(cuda::CudaDevice& device, const ProfileRequest& request);

}  // namespace fsr
