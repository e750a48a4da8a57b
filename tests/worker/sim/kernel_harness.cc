#include "tests/worker/sim/kernel_harness.h"

#include <algorithm>

#include "common/status.h"
#include "tests/worker/sim/nvrtc.h"

namespace fsr::sim {
namespace {

void Require(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(MessageOf(status));
}

template <typename T>
T Require(absl::StatusOr<T> value) {
  Require(value.status());
  return *std::move(value);
}

}  // namespace

KernelHarness::KernelHarness(CompiledKernel kernel, const std::string& profile) {
  ptx_ = kernel.ptx;
  device_ = Require(OpenSimulatedDevice(profile));
  Device::LoadResult loaded = Require(device_->Load(kernel));
  module_ = std::move(loaded.module);
  load_failure_ = loaded.failure;
}

KernelHarness KernelHarness::OfPtx(const std::string& ptx, const std::string& profile) {
  CompiledKernel kernel;
  kernel.ptx = ptx;
  return KernelHarness(std::move(kernel), profile);
}

KernelHarness KernelHarness::OfCuda(const std::string& source, const std::string& profile) {
  const NvrtcResult compiled = CompileWithNvrtc(source, "sm_90a");
  if (!compiled.ok) throw std::runtime_error("NVRTC: " + compiled.log);
  return OfPtx(compiled.ptx, profile);
}

void KernelHarness::AddBuffer(const std::string& name, size_t bytes, const void* content) {
  std::unique_ptr<DeviceBuffer> buffer = Require(device_->Allocate(name, bytes));
  Require(buffer->Write({static_cast<const std::byte*>(content), bytes}));
  ResolvedArgument argument;
  argument.kind = ResolvedArgument::Kind::kBuffer;
  argument.index = static_cast<int>(buffers_.size());
  arguments_.push_back(argument);
  names_.push_back(name);
  buffers_.push_back(std::move(buffer));
}

uint64_t KernelHarness::FreedAddress(size_t bytes) { return Require(device_->Allocate("freed", bytes))->address(); }

LaunchReport KernelHarness::Launch(const std::string& kernel, Extents grid, Extents block, uint32_t shared_bytes) {
  if (load_failure_.has_value()) {
    LaunchReport report;
    report.failure = load_failure_;
    return report;
  }
  ResolvedPlan plan;
  std::vector<DeviceBuffer*> buffers;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    ResolvedBuffer& buffer = plan.buffers.emplace_back();
    buffer.name = names_[i];
    buffer.bytes = static_cast<int64_t>(buffers_[i]->bytes());
    buffers.push_back(buffers_[i].get());
  }
  ResolvedLaunch& launch = plan.launches.emplace_back();
  launch.kernel = kernel;
  launch.grid = grid;
  launch.block = block;
  launch.shared_bytes = shared_bytes;
  launch.cooperative = cooperative;
  launch.arguments = arguments_;
  return Require(device_->Run(*module_, plan, buffers, options));
}

size_t KernelHarness::BytesOf(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) throw std::runtime_error("no buffer " + name);
  return buffers_[static_cast<size_t>(found - names_.begin())]->bytes();
}

void KernelHarness::ReadBytes(const std::string& name, void* content) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  DeviceBuffer& buffer = *buffers_[static_cast<size_t>(found - names_.begin())];
  Require(buffer.Read({static_cast<std::byte*>(content), buffer.bytes()}));
}

std::string FailureText(const LaunchReport& report) {
  return report.failure.has_value() ? report.failure->fault.kind() + ": " + report.failure->fault.message() : "";
}

}  // namespace fsr::sim
