// Times a right kernel on a GPU so that the figure can be believed. The method:
// - Cold: before every sample the L2 cache is filled with clean lines of nobody's data and the persisting lines are
//   reset; hot is a second figure.
// - Fresh data at the same addresses before every sample, poisoned outputs; after the samples the output of timed
// launches
//   is compared with the oracle's for the data they had. No kernel can know which launch is the last one.
// - Candidate and references are sampled side by side, in an order drawn anew for every batch.
// - Samples are taken until the noise criterion holds and the verdicts are clear (statistics.h); throttled ones
//   are dropped.
// - What an empty pair of events measures is subtracted, and shown.
// - A time below what the data sheet allows is REJECTED, with both figures.
// Ways others time, and what went wrong with them: nvbench (blocking kernel, stopping criterion), and the threads on
// KernelBench, flashinfer-bench and GPU MODE.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "worker/device/cuda/cuda_device.h"
#include "worker/meter/meter.h"
#include "worker/meter/statistics.h"

namespace fsr {

inline constexpr int kHotSamplesMax = 20;
inline constexpr int kHotSamplesMin = 5;
inline constexpr double kHotSecondsMax = 0.1;  // a slow kernel gets fewer
// A time must lie below the data sheet's floor by more than this share to be called impossible.
inline constexpr double kFloorSlack = 0.03;

absl::StatusOr<MeterReport> MeasureCuda(cuda::CudaDevice& device, const v1::Task& task, const LoadableKernel& candidate,
                                        const LoadableKernel& oracle, const std::vector<MeterReference>& references,
                                        const JudgeOptions& options, const PhaseCallback& on_phase,
                                        const StoppingRule& rule = {});

// Sets measured_copy_gb_per_s (read + write of a large device copy), measured_f32_tflops and launch_overhead_us.
absl::Status ProbeDevice(cuda::CudaDevice& device, v1::DeviceFacts& facts);

}  // namespace fsr
