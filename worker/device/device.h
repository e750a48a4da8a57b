// A device that runs kernels: a simulated one (worker/device/sim) or a CUDA GPU (worker/device/cuda).
//
// Not safe for concurrent use: one process, one device, one thread. Errors as absl::Status are trouble of ours (no
// driver, no memory); what a kernel does wrong is a Fault in the LaunchReport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/launch_plan.h"
#include "fsr/v1/evaluation.pb.h"

namespace fsr {

// A compiled kernel file, ready to load.
struct CompiledKernel {
  std::string ptx;
  std::string cubin;                                 // empty if only PTX was asked for
  std::string log;                                   // of the compiler, warnings too
  std::string architecture;                          // "sm_90a"
  std::map<std::string, std::string> lowered_names;  // as launched -> as in PTX
  std::vector<v1::Resources> resources;              // by kernel, as the compiler reports them
  bool cache_hit = false;
};

// Memory on the device, surrounded by guard bands. Freed by the destructor; must not outlive its Device.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  virtual uint64_t address() const = 0;
  virtual size_t bytes() const = 0;
  // From byte `offset` of the buffer on. REQUIRES: offset + data.size() <= bytes().
  virtual absl::Status Write(std::span<const std::byte> data, size_t offset) = 0;
  virtual absl::Status Read(std::span<std::byte> data, size_t offset) = 0;
  absl::Status Write(std::span<const std::byte> data) { return Write(data, 0); }
  absl::Status Read(std::span<std::byte> data) { return Read(data, 0); }
  virtual absl::Status Fill(uint8_t byte) = 0;
  // False if a byte next to the buffer has changed since it was allocated.
  virtual absl::StatusOr<bool> GuardsIntact() = 0;
};

// A loaded module: its global variables live from Load to destruction.
class DeviceModule {
 public:
  virtual ~DeviceModule() = default;
};

// What one run of a launch plan did.
struct LaunchReport {
  // Set if the kernel broke; `outcome` is then LAUNCH_ERROR, RUNTIME_FAULT, TIMEOUT or UNSUPPORTED.
  struct Failure {
    v1::Outcome outcome = v1::RUNTIME_FAULT;
    v1::Fault fault;
  };
  std::optional<Failure> failure;
  // A simulator's estimate for the whole plan, fills included; nullopt on a GPU.
  std::optional<v1::Measurement> estimate;
  std::vector<v1::Counter> counters;  // a simulator's counts
  std::vector<std::string> hints;     // of a simulator's cost model for the whole plan, in plain words; may be empty
  // Thread-level executions by full PTX opcode ("ld.global.nc.v4.f32"); empty on a GPU.
  std::map<std::string, uint64_t> executed_instructions;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const v1::DeviceFacts& facts() const = 0;

  // `name` is what faults call it. RESOURCE_EXHAUSTED if there is not enough memory.
  virtual absl::StatusOr<std::unique_ptr<DeviceBuffer>> Allocate(std::string_view name, size_t bytes) = 0;

  // A kernel file that the device cannot load is the kernel's fault, and comes as `failure` with UNSUPPORTED or
  // LAUNCH_ERROR.
  struct LoadResult {
    std::unique_ptr<DeviceModule> module;  // null if it failed
    std::optional<LaunchReport::Failure> failure;
  };
  virtual absl::StatusOr<LoadResult> Load(const CompiledKernel& kernel) = 0;

  struct RunOptions {
    absl::Duration time_limit = absl::Seconds(10);
    bool estimate = false;  // a simulator also runs its cost model, with cold caches
  };
  // Runs the plan's fills and launches in order and waits for them. `buffers` are those of the plan, by index.
  // After a failure the device may be unusable (a GPU's sticky error): the process then ends itself.
  virtual absl::StatusOr<LaunchReport> Run(DeviceModule& module, const ResolvedPlan& plan,
                                           std::span<DeviceBuffer* const> buffers, const RunOptions& options) = 0;

  // True after a failure that the device cannot recover from in this process (a sticky error, a kernel still running):
  // nothing works any more, the process ends itself and a new one takes over.
  virtual bool broken() const { return false; }
};

// Opens "sim:PROFILE" or "cuda:N". INVALID_ARGUMENT names the known profiles; UNAVAILABLE says what a GPU needs.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice(std::string_view name);

// The facts alone, cheaply: for a worker that must say what it is.
absl::StatusOr<v1::DeviceFacts> ReadDeviceFacts(std::string_view name);

}  // namespace fsr
