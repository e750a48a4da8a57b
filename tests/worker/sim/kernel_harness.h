// Runs one kernel on a simulated device, for tests and benchmarks.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker/device/device.h"
#include "worker/device/sim/simulated_device.h"

namespace fsr::sim {

using Extents = std::array<uint32_t, 3>;

// Trouble of ours throws std::runtime_error: a test that meets it fails. What the kernel does wrong is in the report.
class KernelHarness {
 public:
  // PTX as it is.
  static KernelHarness OfPtx(const std::string& ptx, const std::string& profile = "h200");
  // CUDA C++ through NVRTC.
  static KernelHarness OfCuda(const std::string& source, const std::string& profile = "h200");

  // Arguments, in the order of the kernel's parameters.
  template <typename T>
  KernelHarness& Buffer(const std::string& name, const std::vector<T>& content) {
    AddBuffer(name, content.size() * sizeof(T), content.data());
    return *this;
  }
  template <typename T>
  KernelHarness& Value(T value) {
    ResolvedArgument argument;
    argument.bytes.resize(sizeof(T));
    std::memcpy(argument.bytes.data(), &value, sizeof(T));
    arguments_.push_back(argument);
    return *this;
  }

  // The address of a buffer of `bytes` bytes that is freed again.
  uint64_t FreedAddress(size_t bytes);

  LaunchReport Launch(const std::string& kernel, Extents grid, Extents block, uint32_t shared_bytes = 0);

  template <typename T>
  std::vector<T> Read(const std::string& name) {
    std::vector<T> content(BytesOf(name) / sizeof(T));
    ReadBytes(name, content.data());
    return content;
  }

  const std::string& ptx() const { return ptx_; }

  // Set before Launch.
  bool cooperative = false;
  Device::RunOptions options;

 private:
  KernelHarness(CompiledKernel kernel, const std::string& profile);
  void AddBuffer(const std::string& name, size_t bytes, const void* content);
  size_t BytesOf(const std::string& name) const;
  void ReadBytes(const std::string& name, void* content);

  std::string ptx_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceModule> module_;
  std::optional<LaunchReport::Failure> load_failure_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::vector<ResolvedArgument> arguments_;
};

// "kind: message", or "" if nothing failed.
std::string FailureText(const LaunchReport& report);

}  // namespace fsr::sim
