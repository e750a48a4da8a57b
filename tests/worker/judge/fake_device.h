// A device in memory whose kernels are C++ functions: what judge and meter see of a device, without PTX.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker/device/device.h"
#include "worker/judge/judge.h"

namespace fsr {

class FakeDevice;

// One launch as a kernel sees it.
struct FakeLaunch {
  const ResolvedPlan& plan;
  std::vector<std::span<std::byte>> memory;             // by buffer of the plan
  std::map<std::string, std::vector<double>>& globals;  // `__device__` variables of the module
  FakeDevice& device;
  std::optional<LaunchReport::Failure> failure = std::nullopt;  // a kernel sets it to break

  // The elements of a buffer. A kernel may go beyond them by a few, into the guard band, with data().
  template <typename T>
  std::span<T> Buffer(const std::string& name) {
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      if (plan.buffers[i].name == name) return {reinterpret_cast<T*>(memory[i].data()), memory[i].size() / sizeof(T)};
    }
    throw std::out_of_range("no buffer " + name);
  }
  int64_t Extent(const std::string& name, size_t dimension) const {
    for (const ResolvedBuffer& buffer : plan.buffers) {
      if (buffer.name == name) return buffer.shape.at(dimension);
    }
    throw std::out_of_range("no buffer " + name);
  }
};

class FakeDevice : public Device {
 public:
  using Kernel = std::function<void(FakeLaunch&)>;

  FakeDevice();

  // From now on `name` can be launched. An estimate of 0 means that the device gives none.
  void Define(const std::string& name, Kernel kernel, double estimate_us = 10);

  v1::DeviceFacts& mutable_facts() { return facts_; }
  size_t memory_bytes_max = size_t{1} << 30;
  std::vector<std::string> launched;           // kernels in the order of their runs
  std::map<std::string, size_t> module_bytes;  // of a kernel's global variables; a kernel without an entry has none
  int load_count = 0;
  absl::Duration longest_limit;  // of all runs
  // All memory that was ever handed out, freed or not, as a kernel that scans the address space would see it.
  std::vector<std::shared_ptr<std::vector<std::byte>>> memory;

  const v1::DeviceFacts& facts() const override { return facts_; }
  absl::StatusOr<std::unique_ptr<DeviceBuffer>> Allocate(std::string_view name, size_t bytes) override;
  absl::StatusOr<LoadResult> Load(const CompiledKernel& kernel) override;
  absl::StatusOr<LaunchReport> Run(DeviceModule& module, const ResolvedPlan& plan,
                                   std::span<DeviceBuffer* const> buffers, const RunOptions& options) override;

 private:
  struct Defined {
    Kernel kernel;
    double estimate_us = 0;
  };
  v1::DeviceFacts facts_;
  std::map<std::string, Defined> kernels_;
};

// A kernel file with one launch of `name`, and `scratch` (f32, so many elements) if given.
LoadableKernel FakeKernel(const std::string& name, const std::string& scratch = "", int64_t scratch_count = 0);

// output[i] = 2 * input[i] in f32; cases n = 1000, 33 (held out); measured: n = 2048.
v1::Task DoubleTask();
// output[i] = 2 * input[i], the oracle of DoubleTask.
void DoubleAll(FakeLaunch& launch);

}  // namespace fsr
