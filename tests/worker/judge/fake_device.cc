#include "tests/worker/judge/fake_device.h"

#include <algorithm>
#include <cstring>

#include "fmt/format.h"

namespace fsr {
namespace {

constexpr size_t kGuardBytes = 256;
constexpr std::byte kGuard{0xa5};

class FakeBuffer : public DeviceBuffer {
 public:
  FakeBuffer(std::shared_ptr<std::vector<std::byte>> memory, size_t bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}
  uint64_t address() const override { return reinterpret_cast<uint64_t>(memory_->data() + kGuardBytes); }
  size_t bytes() const override { return bytes_; }
  absl::Status Write(std::span<const std::byte> data, size_t offset) override {
    std::copy(data.begin(), data.end(), Data().begin() + static_cast<std::ptrdiff_t>(offset));
    return absl::OkStatus();
  }
  absl::Status Read(std::span<std::byte> data, size_t offset) override {
    std::copy_n(Data().begin() + static_cast<std::ptrdiff_t>(offset), data.size(), data.begin());
    return absl::OkStatus();
  }
  absl::Status Fill(uint8_t byte) override {
    std::fill(Data().begin(), Data().end(), std::byte{byte});
    return absl::OkStatus();
  }
  absl::StatusOr<bool> GuardsIntact() override {
    const auto intact = [](std::byte byte) { return byte == kGuard; };
    return std::all_of(memory_->begin(), memory_->begin() + kGuardBytes, intact) &&
           std::all_of(memory_->end() - kGuardBytes, memory_->end(), intact);
  }
  std::span<std::byte> Data() { return std::span(*memory_).subspan(kGuardBytes, bytes_); }

 private:
  std::shared_ptr<std::vector<std::byte>> memory_;
  size_t bytes_;
};

class FakeModule : public DeviceModule {
 public:
  std::map<std::string, std::vector<double>> globals;
};

}  // namespace

FakeDevice::FakeDevice() {
  facts_.set_kind("sim:fake");
  facts_.set_name("a device in memory");
  facts_.set_simulated(true);
  facts_.set_memory_bandwidth_gb_per_s(1000);
  facts_.set_f32_peak_tflops(10);
}

void FakeDevice::Define(const std::string& name, Kernel kernel, double estimate_us) {
  kernels_[name] = {std::move(kernel), estimate_us};
}

absl::StatusOr<std::unique_ptr<DeviceBuffer>> FakeDevice::Allocate(std::string_view name, size_t bytes) {
  if (bytes > memory_bytes_max) {
    return absl::ResourceExhaustedError(fmt::format("{} needs {} bytes of {}", name, bytes, memory_bytes_max));
  }
  auto block = std::make_shared<std::vector<std::byte>>(bytes + 2 * kGuardBytes, kGuard);
  memory.push_back(block);
  return std::make_unique<FakeBuffer>(std::move(block), bytes);
}

absl::StatusOr<Device::LoadResult> FakeDevice::Load(const CompiledKernel& kernel) {
  ++load_count;
  if (const auto bytes = module_bytes.find(kernel.ptx);
      bytes != module_bytes.end() && bytes->second > memory_bytes_max) {
    return absl::ResourceExhaustedError(fmt::format("a module needs {} of {}", bytes->second, memory_bytes_max));
  }
  LoadResult result;
  if (kernels_.contains(kernel.ptx)) {
    result.module = std::make_unique<FakeModule>();
    return result;
  }
  result.failure.emplace();
  result.failure->outcome = v1::UNSUPPORTED;
  result.failure->fault.set_message("no kernel " + kernel.ptx);
  return result;
}

absl::StatusOr<LaunchReport> FakeDevice::Run(DeviceModule& module, const ResolvedPlan& plan,
                                             std::span<DeviceBuffer* const> buffers, const RunOptions& options) {
  LaunchReport report;
  longest_limit = std::max(longest_limit, options.time_limit);
  std::vector<std::span<std::byte>> spans;
  for (DeviceBuffer* buffer : buffers) spans.push_back(static_cast<FakeBuffer*>(buffer)->Data());
  for (const ResolvedFill& fill : plan.fills) {
    std::ranges::fill(spans[static_cast<size_t>(fill.buffer)], std::byte{fill.byte});
  }
  double estimate_us = 0;
  for (const ResolvedLaunch& resolved : plan.launches) {
    launched.push_back(resolved.kernel);
    const Defined& defined = kernels_.at(resolved.kernel);
    FakeLaunch launch{plan, spans, static_cast<FakeModule&>(module).globals, *this};
    defined.kernel(launch);
    report.executed_instructions["fake.run"] += 32;
    estimate_us += defined.estimate_us;
    if (launch.failure) {
      report.failure = std::move(launch.failure);
      return report;
    }
  }
  if (options.estimate && estimate_us > 0) {
    report.estimate.emplace().set_latency_us(estimate_us);
    report.estimate->set_limited_by("memory");
    report.counters.emplace_back().set_name("runs");
    report.hints.emplace_back("a hint of the device");
  }
  return report;
}

LoadableKernel FakeKernel(const std::string& name, const std::string& scratch, int64_t scratch_count) {
  LoadableKernel kernel;
  kernel.compiled.ptx = name;
  Launch launch;
  launch.kernel = name;
  launch.grid.push_back(SizeExpression::Constant(1));
  launch.block.push_back(SizeExpression::Constant(32));
  kernel.plan.launches.push_back(launch);
  if (!scratch.empty()) {
    kernel.plan.scratch.push_back({scratch, v1::F32, SizeExpression::Constant(scratch_count), 1});
  }
  return kernel;
}

v1::Task DoubleTask() {
  v1::Task task;
  task.set_name("doubled");
  const auto add = [&](const char* name, v1::ElementType type, v1::Parameter::Role role) {
    v1::Parameter& parameter = *task.add_parameters();
    parameter.set_name(name);
    parameter.set_type(type);
    parameter.set_role(role);
    if (role != v1::Parameter::SIZE) parameter.add_shape("n");
  };
  add("input", v1::F32, v1::Parameter::INPUT);
  add("output", v1::F32, v1::Parameter::OUTPUT);
  add("n", v1::I32, v1::Parameter::SIZE);
  const auto add_case = [&](int64_t n, bool held_out) {
    v1::Case& which = *task.add_cases();
    (*which.mutable_sizes())["n"] = n;
    which.set_held_out(held_out);
  };
  add_case(1000, false);
  add_case(33, true);
  (*task.mutable_measure()->mutable_sizes())["n"] = 2048;
  task.mutable_work()->set_bytes("8 * n");
  return task;
}

void DoubleAll(FakeLaunch& launch) {
  const auto input = launch.Buffer<float>("input"), output = launch.Buffer<float>("output");
  for (size_t i = 0; i < output.size(); ++i) output[i] = 2 * input[i];
}

}  // namespace fsr
