#include "tests/worker/tasks/task_bench.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "common/element_type.h"
#include "common/launch_plan.h"
#include "common/status.h"
#include "worker/judge/data.h"

namespace fsr {
namespace {

constexpr char kDevice[] = "sim:h200";
constexpr uint8_t kPoison = 0xd7;  // no right output

template <class T>
T Require(absl::StatusOr<T> value) {
  INFO(value.status().ToString());
  REQUIRE(value.ok());
  return *std::move(value);
}
void Require(const absl::Status& status) {
  INFO(status.ToString());
  REQUIRE(status.ok());
}

Compiler& SharedCompiler() {
  static Compiler* compiler = NewProcessCompiler(FSR_BIN_DIR "/compile_child", 1).release();
  return *compiler;
}

CompiledKernel Compile(const LaunchPlan& plan, const std::string& source, const std::string& file_name,
                       const std::string& architecture) {
  CompileRequest request;
  request.source = source;
  request.file_name = file_name;
  request.architecture = architecture;
  request.options = CompileDefinitions(plan);
  request.want_cubin = false;
  for (const Launch& launch : plan.launches) {
    if (std::find(request.kernels.begin(), request.kernels.end(), launch.kernel) == request.kernels.end()) {
      request.kernels.push_back(launch.kernel);
    }
  }
  CompileResult result = Require(SharedCompiler().Compile(request));
  INFO(result.log << result.launch_error);
  REQUIRE(result.ok);
  return result.kernel;
}

const v1::Parameter& ParameterOf(const v1::Task& task, const std::string& name) {
  const auto found = std::find_if(task.parameters().begin(), task.parameters().end(),
                                  [&](const v1::Parameter& parameter) { return parameter.name() == name; });
  REQUIRE(found != task.parameters().end());
  return *found;
}

Numbers NumbersOf(const ResolvedBuffer& buffer, const std::vector<std::byte>& bytes) {
  Numbers numbers(static_cast<size_t>(buffer.element_count));
  const size_t step = SizeOf(buffer.type);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = LoadAsDouble(buffer.type, bytes.data() + i * step);
  return numbers;
}

// Device memory of a plan, with what was in it before the launch.
struct Memory {
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<std::vector<std::byte>> before;
};

bool IsFilled(v1::Parameter::Role role) { return role == v1::Parameter::INPUT || role == v1::Parameter::INOUT; }

Memory Prepare(Device& device, const v1::Task& task, const v1::Case& which, const ResolvedPlan& plan, uint64_t seed) {
  Memory memory;
  for (const ResolvedBuffer& buffer : plan.buffers) {
    std::vector<std::byte> bytes(static_cast<size_t>(buffer.bytes), std::byte{kPoison});
    if (IsFilled(buffer.role)) {
      FillData(Require(ResolveData(ParameterOf(task, buffer.name), which, buffer.element_count)), ++seed, bytes);
    }
    memory.buffers.push_back(Require(device.Allocate(buffer.name, bytes.size())));
    if (buffer.role != v1::Parameter::ROLE_UNSPECIFIED) Require(memory.buffers.back()->Write(bytes));
    memory.before.push_back(std::move(bytes));
  }
  return memory;
}

}  // namespace

TaskBench::TaskBench(const v1::Task& task, const std::string& source, const std::string& file_name)
    : task_(task), plan_(Require(ParseLaunchPlan(source, task))), device_(Require(OpenDevice(kDevice))) {
  const CompiledKernel kernel = Compile(plan_, source, file_name, device_->facts().architecture());
  Device::LoadResult loaded = Require(device_->Load(kernel));
  if (loaded.failure) FAIL(loaded.failure->fault.DebugString());
  module_ = std::move(loaded.module);
}

TaskBench::Result TaskBench::Run(const v1::Case& which, uint64_t seed) {
  const ResolvedPlan plan = Require(Resolve(plan_, task_, which));
  const Memory memory = Prepare(*device_, task_, which, plan, seed);
  std::vector<DeviceBuffer*> buffers;
  for (const auto& buffer : memory.buffers) buffers.push_back(buffer.get());
  Device::RunOptions options;
  options.time_limit = absl::Minutes(5);
  const LaunchReport report = Require(device_->Run(*module_, plan, buffers, options));
  if (report.failure) FAIL(report.failure->fault.DebugString());

  Result result;
  for (const auto& [name, size] : which.sizes()) result.numbers.sizes[name] = size;
  // As the kernel gets it.
  for (const auto& [name, value] : which.scalars()) {
    std::vector<std::byte> bytes(SizeOf(ParameterOf(task_, name).type()));
    StoreFromDouble(ParameterOf(task_, name).type(), value, bytes.data());
    result.numbers.scalars[name] = LoadAsDouble(ParameterOf(task_, name).type(), bytes.data());
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const ResolvedBuffer& buffer = plan.buffers[i];
    INFO(buffer.name);
    REQUIRE(Require(memory.buffers[i]->GuardsIntact()));
    std::vector<std::byte> after(memory.before[i].size());
    if (buffer.role == v1::Parameter::ROLE_UNSPECIFIED) continue;
    Require(memory.buffers[i]->Read(after));
    if (buffer.role == v1::Parameter::INPUT) REQUIRE(after == memory.before[i]);
    if (IsFilled(buffer.role)) result.numbers.inputs[buffer.name] = NumbersOf(buffer, memory.before[i]);
    if (buffer.role != v1::Parameter::INPUT) result.outputs[buffer.name] = NumbersOf(buffer, after);
  }
  return result;
}

}  // namespace fsr
