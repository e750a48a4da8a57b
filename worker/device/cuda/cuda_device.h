// A CUDA GPU as a Device. It owns the process's context; a sticky error breaks the whole process, so this lives in a
// disposable child only.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "worker/device/cuda/driver.h"
#include "worker/device/device.h"

namespace fsr::cuda {

// Bytes before and after every buffer that no kernel may change.
inline constexpr size_t kGuardBytes = 4096;

class CudaModule : public DeviceModule {
 public:
  CudaModule(const Driver& driver, CUmodule module, std::map<std::string, std::string> lowered_names)
      : driver_(driver), module_(module), lowered_names_(std::move(lowered_names)) {}
  ~CudaModule() override {
    if (!ContextIsBroken()) driver_.ModuleUnload(module_);
  }
  CudaModule(const CudaModule&) = delete;  // owns the module
  CudaModule& operator=(const CudaModule&) = delete;

  // The kernel by the name of the launch line; nullptr if there is none.
  CUfunction Find(const std::string& kernel) const;

 private:
  const Driver& driver_;
  const CUmodule module_;
  const std::map<std::string, std::string> lowered_names_;
};

// A launch with everything looked up and checked, ready to be queued any number of times. Tensor maps hold the
// addresses of the buffers it was made with.
struct PreparedLaunch {
  CUfunction function = nullptr;
  CUlaunchConfig config{};
  std::vector<CUlaunchAttribute> attributes;
  std::vector<std::vector<uint8_t>> values;  // the arguments' bytes
  std::vector<void*> arguments;              // into values
  std::string kernel;
  uint32_t line = 0;
};

struct PreparedPlan {
  struct Fill {
    CUdeviceptr address = 0;
    size_t bytes = 0;
    uint8_t byte = 0;
  };
  std::vector<Fill> fills;
  std::vector<std::unique_ptr<PreparedLaunch>> launches;
};

class CudaDevice : public Device {
 public:
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Open(int ordinal);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;  // owns the context
  CudaDevice& operator=(const CudaDevice&) = delete;

  const v1::DeviceFacts& facts() const override { return facts_; }
  absl::StatusOr<std::unique_ptr<DeviceBuffer>> Allocate(std::string_view name, size_t bytes) override;
  absl::StatusOr<LoadResult> Load(const CompiledKernel& kernel) override;
  absl::StatusOr<LaunchReport> Run(DeviceModule& module, const ResolvedPlan& plan,
                                   std::span<DeviceBuffer* const> buffers, const RunOptions& options) override;
  bool broken() const override { return ContextIsBroken(); }

  // With what was measured on this very GPU.
  void set_facts(v1::DeviceFacts facts) { facts_ = std::move(facts); }

  // ---- For the meter, which queues launches between events of its own ----
  const Driver& driver() const { return *driver_; }
  CUstream stream() const { return stream_; }
  CUcontext context() const { return context_; }
  int ordinal() const { return device_; }
  // `failure` is set where the device refuses the launch.
  struct PrepareResult {
    PreparedPlan plan;
    std::optional<LaunchReport::Failure> failure;
  };
  absl::StatusOr<PrepareResult> Prepare(DeviceModule& module, const ResolvedPlan& plan,
                                        std::span<DeviceBuffer* const> buffers);
  // Queues fills and launches on stream(); does not wait.
  std::optional<LaunchReport::Failure> Enqueue(PreparedPlan& plan);
  // Waits for stream(). A kernel that does not end in time leaves the device broken.
  std::optional<LaunchReport::Failure> Await(absl::Duration time_limit);

 private:
  CudaDevice(const Driver* driver, v1::DeviceFacts facts, CUdevice device)
      : driver_(driver), facts_(std::move(facts)), device_(device) {}

  const Driver* const driver_;
  v1::DeviceFacts facts_;
  const CUdevice device_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::string last_kernel_;  // queued last: what a fault is blamed on
  uint32_t last_line_ = 0;
};

// What a CUDA error says about the kernel; `sticky`: the context is lost.
LaunchReport::Failure FailureOf(const Driver& driver, CUresult result, const std::string& kernel, uint32_t line);

}  // namespace fsr::cuda

namespace fsr {
// "cuda:N". UNAVAILABLE says what is missing.
absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int ordinal);
absl::StatusOr<v1::DeviceFacts> ReadCudaDeviceFacts(int ordinal);
absl::StatusOr<int> CountCudaDevices();  // at least 1
}  // namespace fsr
