// How fast is the kernel? Only right kernels are measured.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/judge/judge.h"
#include "worker/judge/measured_case.h"

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
  // Warp-level executions by instruction prefix that the task asks for, where the device counts them only when it
  // measures; one that it cannot count is missing.
  std::map<std::string, uint64_t> executed_instructions;
  std::optional<LaunchReport::Failure> failure;
};

// kMeasured: what was seen on this device, where it was measured: what a kernel can hope for, so the share of the floor
// is meant against it. kDataSheet: what no kernel can beat (a kernel that only reads may well beat a measured copy); a
// time is impossible only below this one.
enum class FloorRates { kMeasured, kDataSheet };

// The least time in microseconds that the hardware allows for the case's work.
absl::StatusOr<double> FloorMicroseconds(const v1::Task& task, const v1::Case& which, const v1::DeviceFacts& device,
                                         FloorRates rates = FloorRates::kMeasured);

// The time below which no kernel can have done the case's work: the data sheet's rates, and the L2 cache's size of the
// bytes not counted.
absl::StatusOr<double> ImpossibleBelowMicroseconds(const v1::Task& task, const v1::Case& which,
                                                   const v1::DeviceFacts& device);

// Told when a phase of its own begins ("counters"), for people and for the limits of the whole.
using PhaseCallback = std::function<void(std::string_view)>;
inline const PhaseCallback IgnorePhase = [](std::string_view) {};

// On a simulator: the cost model's estimate (simulated_meter.h). On a GPU: cuda_meter.h.
absl::StatusOr<MeterReport> Measure(Device& device, const v1::Task& task, const LoadableKernel& candidate,
                                    const LoadableKernel& oracle, const std::vector<MeterReference>& references,
                                    const JudgeOptions& options, const PhaseCallback& on_phase = IgnorePhase);

}  // namespace fsr
