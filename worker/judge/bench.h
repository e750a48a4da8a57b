// One case of a task on a device: its buffers, its data, and runs of kernels on them. Judge and meter both stand on it.
//
// Rules it keeps:
// 1. Every run starts from the pristine inputs, with outputs and scratch poisoned.
// 2. After a run the guard bands are checked, and the inputs against the pristine ones.
// 3. The oracle's results leave the device before RunOracle returns: no kernel run later can find them there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/launch_plan.h"
#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/task.pb.h"
#include "worker/device/device.h"
#include "worker/judge/host_buffer.h"
#include "worker/judge/judge.h"
#include "worker/judge/poison.h"

namespace fsr {

// An oracle may be slow: it is written to be right.
inline constexpr absl::Duration kOracleRunLimitMin = absl::Seconds(60);

// A kernel file loaded for one case: module globals and scratch live as long as this.
struct LoadedKernel {
  ResolvedPlan plan;
  std::unique_ptr<DeviceModule> module;
  std::vector<std::unique_ptr<DeviceBuffer>> scratch;
};

// What a run left behind. If `report.failure` is set, there are no outputs; REJECTED if an input was changed.
struct KernelRun {
  LaunchReport report;
  std::vector<HostBuffer> outputs;            // by buffer; empty for inputs
  std::vector<std::optional<Poison>> poison;  // by buffer; what an OUTPUT held before
};

// Not safe for concurrent use. `device`, `task` and `which` must outlive it.
class Bench {
 public:
  // RESOURCE_EXHAUSTED if the buffers do not fit on the device.
  static absl::StatusOr<std::unique_ptr<Bench>> Create(Device& device, const v1::Task& task, const v1::Case& which);
  Bench(const Bench&) = delete;  // others point into it
  Bench& operator=(const Bench&) = delete;

  // The task's buffers in order, and what is in the inputs.
  const std::vector<ResolvedBuffer>& buffers() const { return buffers_; }
  const HostBuffer& pristine(size_t buffer) const { return pristine_[buffer]; }
  const v1::Task& task() const { return task_; }
  const v1::Case& which() const { return which_; }

  // False if every output is empty: there is nothing to compute, and nothing is launched.
  bool HasOutput() const;

  // Draws all inputs anew. INVALID_ARGUMENT if the task's data cannot be drawn.
  absl::Status DrawInputs(uint64_t seed);

  // `failure` is set, and `kernel` null, if the kernel cannot be launched on this case or device.
  struct LoadResult {
    std::unique_ptr<LoadedKernel> kernel;
    std::optional<LaunchReport::Failure> failure;
  };
  absl::StatusOr<LoadResult> Load(const LoadableKernel& kernel);

  absl::StatusOr<KernelRun> Run(LoadedKernel& kernel, PoisonKind poison, uint64_t poison_seed,
                                const Device::RunOptions& options);

  // ---- The parts of Run, for a meter that launches in its own way between them ----
  absl::Status WriteInputs();
  // Writes inputs, poisons outputs and scratch.
  absl::Status Prepare(LoadedKernel& kernel, PoisonKind poison, uint64_t poison_seed, KernelRun& run);
  // Checks guards and inputs and reads the outputs; sets run.report.failure if the kernel broke a rule.
  absl::Status Collect(LoadedKernel& kernel, KernelRun& run);
  // The buffers of the kernel's plan, by index.
  std::vector<DeviceBuffer*> BuffersOf(const LoadedKernel& kernel) const;
  // What the device's input buffers hold now becomes the pristine data.
  absl::Status AdoptInputs();

  // The expected outputs for the inputs drawn last, by buffer. INTERNAL if the oracle fails in any way.
  absl::StatusOr<std::vector<HostBuffer>> RunOracle(const LoadableKernel& oracle, uint64_t poison_seed,
                                                    absl::Duration run_limit);

 private:
  Bench(Device& device, const v1::Task& task, const v1::Case& which) : device_(device), task_(task), which_(which) {}

  absl::StatusOr<std::optional<LaunchReport::Failure>> AllocateScratch(LoadedKernel& kernel);
  absl::Status WritePoison(LoadedKernel& kernel, PoisonKind kind, uint64_t seed, KernelRun& run);
  absl::StatusOr<std::optional<LaunchReport::Failure>> CheckGuards(LoadedKernel& kernel);
  absl::StatusOr<std::optional<LaunchReport::Failure>> CheckInputs();
  absl::Status ReadOutputs(KernelRun& run);
  absl::Status WipeResults(LoadedKernel& kernel);

  // Constant after Create, but for the contents.
  Device& device_;
  const v1::Task& task_;
  const v1::Case& which_;
  std::vector<ResolvedBuffer> buffers_;
  std::vector<const v1::Parameter*> parameters_;  // by buffer
  std::vector<std::unique_ptr<DeviceBuffer>> device_buffers_;

  std::vector<HostBuffer> pristine_;  // by buffer; empty for outputs
};

}  // namespace fsr
