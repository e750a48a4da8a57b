// How fast is the kernel? Only right kernels are measured.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "worker/judge/judge.h"

namespace fsr {

struct MeterReference {
  v1::Comparison::Against against = v1::Comparison::BASELINE;
  LoadableKernel kernel;
};

// What measuring found. `failure` is set if a timed run broke, was wrong, or was faster than the hardware allows.
struct MeterReport {
  std::optional<v1::Measurement> measurement;
  std::vector<v1::Comparison> comparisons;
  std::vector<v1::Counter> counters;
  std::vector<std::string> hints;
  std::vector<v1::Resources> resources;
  std::optional<LaunchReport::Failure> failure;
};

// The case that `device` is measured on: Task.measure_simulated on a simulator if there is one, else Task.measure.
const v1::Case& MeasuredCase(const v1::Task& task, const v1::DeviceFacts& device);

// The least time in microseconds that the hardware allows for the case's work.
absl::StatusOr<double> FloorMicroseconds(const v1::Task& task, const v1::Case& which, const v1::DeviceFacts& device);

// On a simulator: the cost model's estimate. On a GPU: research-grade timing (worker/meter/cuda_meter.h).
absl::StatusOr<MeterReport> Measure(Device& device, const v1::Task& task, const LoadableKernel& candidate,
                                    const LoadableKernel& oracle, const std::vector<MeterReference>& references,
                                    const JudgeOptions& options);

}  // namespace fsr
