#include "worker/judge/bench.h"

#include <algorithm>
#include <cstring>

#include "common/element_type.h"
#include "common/random.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"
#include "worker/judge/data.h"
#include "worker/judge/task_buffers.h"

namespace fsr {
namespace {

// What is copied to or from the device at a time, where not all of it has to be kept. A multiple of every element pair.
constexpr size_t kPartBytes = size_t{8} << 20;

LaunchReport::Failure FailureOf(v1::Outcome outcome, std::string kind, std::string message) {
  LaunchReport::Failure failure;
  failure.outcome = outcome;
  failure.fault.set_kind(std::move(kind));
  failure.fault.set_message(std::move(message));
  return failure;
}

// What a kernel asks for and does not get is its own fault: the task's own buffers did fit.
LaunchReport::Failure OutOfMemory(const std::string& what, const absl::Status& refused) {
  return FailureOf(v1::LAUNCH_ERROR, "out_of_memory",
                   fmt::format("{} on the device beside the task's own buffers: {}", what, MessageOf(refused)));
}

LaunchReport::Failure ChangedInput(const ResolvedBuffer& buffer, std::span<const std::byte> now,
                                   std::span<const std::byte> before) {
  const size_t element = SizeOf(buffer.type);
  const auto differing = std::mismatch(now.begin(), now.end(), before.begin()).first - now.begin();
  const size_t index = static_cast<size_t>(differing) / element;
  const double from = LoadAsDouble(buffer.type, before.data() + index * element);
  const double to = LoadAsDouble(buffer.type, now.data() + index * element);
  LaunchReport::Failure failure = FailureOf(
      v1::REJECTED, "input_changed",
      fmt::format("The kernel changes its input {} at index {}, from {} to {}. Inputs must be left as they are.",
                  DescribeBuffer(buffer), index, from, to));
  failure.fault.set_parameter(buffer.name);
  failure.fault.set_parameter_offset_bytes(static_cast<int64_t>(index * element));
  return failure;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bench>> Bench::Create(Device& device, const v1::Task& task, const v1::Case& which) {
  std::unique_ptr<Bench> bench(new Bench(device, task, which));
  ASSIGN_OR_RETURN(bench->buffers_, TaskBuffers(task, which));
  for (const v1::Parameter& parameter : task.parameters()) {
    if (IsBuffer(parameter)) bench->parameters_.push_back(&parameter);
  }
  for (const ResolvedBuffer& buffer : bench->buffers_) {
    ASSIGN_OR_RETURN(auto memory, device.Allocate(buffer.name, static_cast<size_t>(buffer.bytes)));
    bench->device_buffers_.push_back(std::move(memory));
  }
  bench->pristine_.resize(bench->buffers_.size());
  return bench;
}

bool Bench::HasOutput() const {
  return std::any_of(buffers_.begin(), buffers_.end(), [](const ResolvedBuffer& buffer) {
    return buffer.role != v1::Parameter::INPUT && buffer.element_count > 0;
  });
}

absl::Status Bench::DrawInputs(uint64_t seed) {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].role == v1::Parameter::OUTPUT) continue;
    ASSIGN_OR_RETURN(const ResolvedData data, ResolveData(*parameters_[i], which_, buffers_[i].element_count));
    if (pristine_[i].empty()) pristine_[i] = HostBuffer(static_cast<size_t>(buffers_[i].bytes));
    FillData(data, DeriveSeed(seed, "data of " + buffers_[i].name), pristine_[i].bytes());
  }
  return absl::OkStatus();
}

absl::StatusOr<Bench::LoadResult> Bench::Load(const LoadableKernel& kernel) {
  LoadResult result;
  auto plan = Resolve(kernel.plan, task_, which_);
  if (!plan.ok()) {
    result.failure = FailureOf(v1::LAUNCH_ERROR, "invalid_launch_plan", MessageOf(plan.status()));
    return result;
  }
  auto loaded = device_.Load(kernel.compiled);
  if (absl::IsResourceExhausted(loaded.status())) {
    result.failure = OutOfMemory("The file's global variables do not fit", loaded.status());
    return result;
  }
  if (!loaded.ok()) return loaded.status();
  if (loaded->failure) {
    result.failure = std::move(loaded->failure);
    return result;
  }
  auto ready = std::make_unique<LoadedKernel>();
  ready->plan = *std::move(plan);
  ready->module = std::move(loaded->module);
  ASSIGN_OR_RETURN(result.failure, AllocateScratch(*ready));
  if (!result.failure) result.kernel = std::move(ready);
  return result;
}

absl::StatusOr<std::optional<LaunchReport::Failure>> Bench::AllocateScratch(LoadedKernel& kernel) {
  for (size_t i = buffers_.size(); i < kernel.plan.buffers.size(); ++i) {
    const ResolvedBuffer& scratch = kernel.plan.buffers[i];
    auto memory = device_.Allocate(scratch.name, static_cast<size_t>(scratch.bytes));
    if (absl::IsResourceExhausted(memory.status())) {
      return OutOfMemory(
          fmt::format("The scratch buffer {} of {} bytes does not fit", DescribeBuffer(scratch), scratch.bytes),
          memory.status());
    }
    if (!memory.ok()) return memory.status();
    kernel.scratch.push_back(*std::move(memory));
  }
  return std::nullopt;
}

absl::StatusOr<KernelRun> Bench::Run(LoadedKernel& kernel, PoisonKind poison, uint64_t poison_seed,
                                     const Device::RunOptions& options) {
  KernelRun run;
  RETURN_IF_ERROR(Prepare(kernel, poison, poison_seed, run));
  ASSIGN_OR_RETURN(run.report, device_.Run(*kernel.module, kernel.plan, BuffersOf(kernel), options));
  if (!run.report.failure) RETURN_IF_ERROR(Collect(kernel, run));
  return run;
}

absl::Status Bench::Prepare(LoadedKernel& kernel, PoisonKind poison, uint64_t poison_seed, KernelRun& run) {
  RETURN_IF_ERROR(WriteInputs());
  return WritePoison(kernel, poison, poison_seed, run);
}

absl::Status Bench::Collect(LoadedKernel& kernel, KernelRun& run) {
  ASSIGN_OR_RETURN(run.report.failure, CheckGuards(kernel));
  if (!run.report.failure) {
    ASSIGN_OR_RETURN(run.report.failure, CheckInputs());
  }
  if (run.report.failure) return absl::OkStatus();
  return ReadOutputs(run);
}

std::vector<DeviceBuffer*> Bench::BuffersOf(const LoadedKernel& kernel) const {
  std::vector<DeviceBuffer*> in_order;
  for (const auto& buffer : device_buffers_) in_order.push_back(buffer.get());
  for (const auto& buffer : kernel.scratch) in_order.push_back(buffer.get());
  return in_order;
}

absl::Status Bench::AdoptInputs() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].role != v1::Parameter::OUTPUT) RETURN_IF_ERROR(device_buffers_[i]->Read(pristine_[i].bytes()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostBuffer>> Bench::RunOracle(const LoadableKernel& oracle, uint64_t poison_seed,
                                                         absl::Duration run_limit) {
  const auto blame = [&](const std::string& what) {
    return absl::InternalError(fmt::format("the oracle of task {} fails: {}", task_.name(), what));
  };
  ASSIGN_OR_RETURN(LoadResult loaded, Load(oracle));
  if (loaded.failure) return blame(loaded.failure->fault.message());
  const Device::RunOptions options{.time_limit = std::max(run_limit, kOracleRunLimitMin)};
  ASSIGN_OR_RETURN(KernelRun run, Run(*loaded.kernel, PoisonKind::kInvalid, poison_seed, options));
  if (run.report.failure) return blame(run.report.failure->fault.message());
  RETURN_IF_ERROR(WipeResults(*loaded.kernel));
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (!run.poison[i]) continue;
    const uint64_t unwritten = run.poison[i]->CountIn(run.outputs[i].bytes());
    const auto all = static_cast<uint64_t>(buffers_[i].element_count);
    // An integer may equal its poison by chance; a NaN with that payload does not come about by chance.
    const bool certain = IsFloatingPoint(buffers_[i].type) ? unwritten > 0 : unwritten == all && all > 1;
    if (certain) {
      return blame(
          fmt::format("it leaves {} of {} elements of {} unwritten", unwritten, all, DescribeBuffer(buffers_[i])));
    }
  }
  return std::move(run.outputs);
}

absl::Status Bench::WriteInputs() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].role != v1::Parameter::OUTPUT) RETURN_IF_ERROR(device_buffers_[i]->Write(pristine_[i].bytes()));
  }
  return absl::OkStatus();
}

absl::Status Bench::WritePoison(LoadedKernel& kernel, PoisonKind kind, uint64_t seed, KernelRun& run) {
  run.poison.resize(buffers_.size());
  const auto write = [&](const ResolvedBuffer& buffer, DeviceBuffer& memory) -> absl::StatusOr<Poison> {
    const Poison poison(buffer.type, kind, DeriveSeed(seed, "poison of " + buffer.name));
    // A part at a time: the pattern repeats, and memory that is not touched twice costs more than the copy.
    const auto bytes = static_cast<size_t>(buffer.bytes);
    HostBuffer pattern(std::min(bytes, kPartBytes));
    poison.Fill(pattern.bytes());
    for (size_t at = 0; at < bytes; at += kPartBytes) {
      RETURN_IF_ERROR(memory.Write(pattern.bytes().first(std::min(kPartBytes, bytes - at)), at));
    }
    return poison;
  };
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].role != v1::Parameter::OUTPUT) continue;
    ASSIGN_OR_RETURN(run.poison[i], write(buffers_[i], *device_buffers_[i]));
  }
  for (size_t s = 0; s < kernel.scratch.size(); ++s) {
    RETURN_IF_ERROR(write(kernel.plan.buffers[buffers_.size() + s], *kernel.scratch[s]).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<LaunchReport::Failure>> Bench::CheckGuards(LoadedKernel& kernel) {
  const auto check = [](DeviceBuffer& memory,
                        const ResolvedBuffer& buffer) -> absl::StatusOr<std::optional<LaunchReport::Failure>> {
    ASSIGN_OR_RETURN(const bool intact, memory.GuardsIntact());
    if (intact) return std::nullopt;
    LaunchReport::Failure failure =
        FailureOf(v1::RUNTIME_FAULT, "guard_overwritten",
                  fmt::format("The kernel writes outside of {}: memory directly before or after its {} bytes has "
                              "changed.",
                              DescribeBuffer(buffer), buffer.bytes));
    failure.fault.set_parameter(buffer.name);
    return failure;
  };
  for (size_t i = 0; i < kernel.plan.buffers.size(); ++i) {
    DeviceBuffer& memory = i < buffers_.size() ? *device_buffers_[i] : *kernel.scratch[i - buffers_.size()];
    ASSIGN_OR_RETURN(auto failure, check(memory, kernel.plan.buffers[i]));
    if (failure) return failure;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<LaunchReport::Failure>> Bench::CheckInputs() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].role != v1::Parameter::INPUT) continue;
    const std::span<const std::byte> before = pristine_[i].bytes();
    HostBuffer part(std::min(before.size(), kPartBytes));
    for (size_t at = 0; at < before.size(); at += kPartBytes) {
      const std::span<std::byte> now = part.bytes().first(std::min(kPartBytes, before.size() - at));
      RETURN_IF_ERROR(device_buffers_[i]->Read(now, at));
      if (std::memcmp(now.data(), before.data() + at, now.size()) == 0) continue;
      HostBuffer whole(before.size());
      RETURN_IF_ERROR(device_buffers_[i]->Read(whole.bytes()));
      return ChangedInput(buffers_[i], whole.bytes(), before);
    }
  }
  return std::nullopt;
}

absl::Status Bench::ReadOutputs(KernelRun& run) {
  run.outputs.resize(buffers_.size());
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].role == v1::Parameter::INPUT) continue;
    run.outputs[i] = HostBuffer(static_cast<size_t>(buffers_[i].bytes));
    RETURN_IF_ERROR(device_buffers_[i]->Read(run.outputs[i].bytes()));
  }
  return absl::OkStatus();
}

absl::Status Bench::WipeResults(LoadedKernel& kernel) {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].role != v1::Parameter::INPUT && buffers_[i].bytes > 0) {
      RETURN_IF_ERROR(device_buffers_[i]->Fill(0));
    }
  }
  for (const auto& buffer : kernel.scratch) {
    if (buffer->bytes() > 0) RETURN_IF_ERROR(buffer->Fill(0));  // a driver may refuse to set 0 bytes
  }
  return absl::OkStatus();
}

}  // namespace fsr
