#include "worker/device/sim/simulated_device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "worker/device/sim/cost_model.h"
#include "worker/device/sim/grid.h"
#include "worker/device/sim/launch_check.h"
#include "worker/device/sim/loaded_module.h"
#include "worker/device/sim/memory.h"
#include "worker/device/sim/occupancy.h"
#include "worker/device/sim/profiles.h"

namespace fsr::sim {
namespace {

// Where a cooperative launch counts its blocks (cooperative_groups::grid_group::sync).
constexpr uint64_t kGridWorkspaceBytes = 64;

class SimulatedBuffer : public DeviceBuffer {
 public:
  SimulatedBuffer(Memory& memory, uint32_t slot) : memory_(memory), slot_(slot) {}
  ~SimulatedBuffer() override { memory_.Free(slot_); }
  uint64_t address() const override { return BeginOfSlot(slot_); }
  size_t bytes() const override { return memory_.region(slot_).bytes; }
  absl::Status Write(std::span<const std::byte> data, size_t offset) override {
    if (!data.empty()) std::memcpy(memory_.region(slot_).host + offset, data.data(), data.size());
    return absl::OkStatus();
  }
  absl::Status Read(std::span<std::byte> data, size_t offset) override {
    if (!data.empty()) std::memcpy(data.data(), memory_.region(slot_).host + offset, data.size());
    return absl::OkStatus();
  }
  absl::Status Fill(uint8_t byte) override {
    std::memset(memory_.region(slot_).host, byte, bytes());
    return absl::OkStatus();
  }
  // Nothing can reach beyond a buffer here: such an access is a fault before it happens.
  absl::StatusOr<bool> GuardsIntact() override { return true; }

 private:
  Memory& memory_;
  uint32_t slot_;
};

// One buffer for as long as a plan runs.
class Workspace {
 public:
  Workspace(Memory& memory, uint32_t slot) : memory_(memory), slot_(slot) {}
  ~Workspace() { memory_.Free(slot_); }
  Workspace(const Workspace&) = delete;  // frees its slot
  Workspace& operator=(const Workspace&) = delete;
  uint64_t Clear() {
    std::memset(memory_.region(slot_).host, 0, kGridWorkspaceBytes);
    return BeginOfSlot(slot_);
  }

 private:
  Memory& memory_;
  uint32_t slot_;
};

LaunchReport::Failure Refused(const ResolvedLaunch& launch, const LaunchRefusal& refusal, uint32_t line = 0) {
  FaultNote note;
  note.outcome = refusal.outcome;
  note.kind = refusal.outcome == v1::UNSUPPORTED ? fault_kind::kUnsupported : fault_kind::kLaunch;
  note.what = refusal.reason;
  note.line = line;
  return DescribeFault(note, launch.kernel);
}

std::vector<std::byte> PackArguments(const Program& program, const ResolvedLaunch& launch,
                                     std::span<DeviceBuffer* const> buffers) {
  std::vector<std::byte> packed(program.parameter_bytes);
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const ResolvedArgument& argument = launch.arguments[i];
    std::byte* to = packed.data() + program.parameters[i].offset;
    if (argument.kind == ResolvedArgument::Kind::kBuffer) {
      const uint64_t address = buffers[static_cast<size_t>(argument.index)]->address();
      std::memcpy(to, &address, sizeof address);
    } else {
      std::memcpy(to, argument.bytes.data(), argument.bytes.size());
    }
  }
  return packed;
}

// The estimate of a whole plan, launch by launch.
class EstimateSum {
 public:
  void Add(LaunchCost cost) {
    total_ += cost.microseconds;
    if (cost.microseconds <= longest_.microseconds) return;
    longest_ = std::move(cost);
  }
  void AddFill(double microseconds) { total_ += microseconds; }
  void Report(const v1::DeviceFacts& facts, LaunchReport& report) const {
    v1::Measurement estimate;
    estimate.set_latency_us(total_);
    estimate.set_latency_p25_us(total_);
    estimate.set_latency_p75_us(total_);
    estimate.set_estimated(true);
    estimate.set_limited_by(longest_.limited_by);
    *estimate.mutable_device() = facts;
    report.estimate = std::move(estimate);
    report.counters = longest_.counters;
    report.hints = longest_.hints;
  }

 private:
  double total_ = 0;
  LaunchCost longest_;  // whose counters and hints stand for the plan
};

class SimulatedDevice : public Device {
 public:
  SimulatedDevice(v1::DeviceFacts facts, const SimulatedDeviceOptions& options, uint64_t memory_bytes)
      : facts_(std::move(facts)), options_(options), memory_(memory_bytes) {
    if (options_.thread_count == 0) options_.thread_count = std::max(1u, std::thread::hardware_concurrency());
  }

  const v1::DeviceFacts& facts() const override { return facts_; }

  absl::StatusOr<std::unique_ptr<DeviceBuffer>> Allocate(std::string_view name, size_t bytes) override {
    ASSIGN_OR_RETURN(const uint32_t slot, memory_.Allocate(name, bytes, /*writable=*/true));
    return std::make_unique<SimulatedBuffer>(memory_, slot);
  }

  absl::StatusOr<LoadResult> Load(const CompiledKernel& kernel) override {
    LoadResult result;
    absl::StatusOr<std::unique_ptr<LoadedModule>> loaded = LoadedModule::Load(kernel, memory_);
    if (loaded.ok()) {
      result.module = *std::move(loaded);
      return result;
    }
    if (!absl::IsInvalidArgument(loaded.status())) return loaded.status();
    FaultNote note;
    note.outcome = v1::UNSUPPORTED;
    note.kind = fault_kind::kUnsupported;
    note.what = "the PTX cannot be read: " + MessageOf(loaded.status());
    result.failure = DescribeFault(note, "module");
    return result;
  }

  absl::StatusOr<LaunchReport> Run(DeviceModule& module, const ResolvedPlan& plan,
                                   std::span<DeviceBuffer* const> buffers, const RunOptions& options) override {
    if (buffers.size() != plan.buffers.size()) {
      return absl::InvalidArgumentError(
          fmt::format("The plan has {} buffers, and {} were given.", plan.buffers.size(), buffers.size()));
    }
    LaunchReport report;
    EstimateSum estimate;
    const absl::Time deadline = options_.clock->Now() + options.time_limit;
    for (const ResolvedFill& fill : plan.fills) {
      DeviceBuffer& buffer = *buffers[static_cast<size_t>(fill.buffer)];
      RETURN_IF_ERROR(buffer.Fill(fill.byte));
      if (options.estimate) estimate.AddFill(EstimateFillMicroseconds(facts_, buffer.bytes()));
    }
    for (const ResolvedLaunch& launch : plan.launches) {
      RETURN_IF_ERROR(Launch(static_cast<LoadedModule&>(module), launch, buffers, deadline,
                             options.estimate ? &estimate : nullptr, report));
      if (report.failure.has_value()) return report;
    }
    if (options.estimate) estimate.Report(facts_, report);
    return report;
  }

 private:
  // `estimate` may be null.
  absl::Status Launch(LoadedModule& module, const ResolvedLaunch& launch, std::span<DeviceBuffer* const> buffers,
                      absl::Time deadline, EstimateSum* estimate, LaunchReport& report) {
    const absl::StatusOr<const Program*> found = module.FindProgram(launch.kernel);
    if (!found.ok()) {
      report.failure = Refused(launch, {v1::LAUNCH_ERROR, MessageOf(found.status())});
      return absl::OkStatus();
    }
    const Program& program = **found;
    if (program.unsupported_step.has_value()) {
      const Step& step = program.steps[*program.unsupported_step];
      report.failure = Refused(launch, {v1::UNSUPPORTED, program.unsupported[step.detail]}, step.line);
      return absl::OkStatus();
    }
    const v1::Resources* resources = module.FindResources(launch.kernel);
    const bool known = resources != nullptr && resources->registers_per_thread() != 0;
    const uint32_t registers = known ? resources->registers_per_thread() : kRegistersPerThreadDefault;
    if (const auto refusal = CheckLaunch(facts_, program, launch, registers)) {
      report.failure = Refused(launch, *refusal);
      return absl::OkStatus();
    }

    LaunchContext context;
    context.program = &program;
    context.memory = &memory_;
    context.grid = launch.grid;
    context.block = launch.block;
    context.threads_per_block = launch.block[0] * launch.block[1] * launch.block[2];
    context.warps_per_block = (context.threads_per_block + kWarpSize - 1) / kWarpSize;
    context.dynamic_shared_bytes = launch.shared_bytes;
    context.shared_bytes = program.shared_static_bytes + launch.shared_bytes;
    context.sm_count = facts_.sm_count();
    std::optional<Workspace> workspace;
    if (launch.cooperative) {
      ASSIGN_OR_RETURN(const uint32_t slot, memory_.Allocate("the grid's barrier", kGridWorkspaceBytes, true));
      workspace.emplace(memory_, slot);
      context.grid_workspace = workspace->Clear();
    }
    std::vector<std::byte> arguments = PackArguments(program, launch, buffers);
    memory_.ShowParameters(arguments.data(), arguments.size());

    const LaunchShape shape = ShapeOf(program, launch, registers);
    GridOptions grid;
    grid.clock = options_.clock;
    grid.deadline = deadline;
    grid.thread_count = options_.thread_count;
    grid.resident_blocks_max = std::max<uint64_t>(
        options_.thread_count, uint64_t{facts_.sm_count()} * ComputeOccupancy(facts_, shape).blocks_per_sm);
    grid.estimate = estimate != nullptr;
    const GridResult result = RunGrid(context, grid);
    memory_.ShowParameters(nullptr, 0);

    for (size_t i = 0; i < result.counts.size(); ++i) {
      const std::string& opcode = program.opcodes[program.steps[i].opcode];
      if (result.counts[i] != 0 && !opcode.empty()) report.executed_instructions[opcode] += result.counts[i];
    }
    if (result.fault.has_value()) {
      report.failure = DescribeFault(*result.fault, launch.kernel);
    } else if (estimate != nullptr) {
      estimate->Add(EstimateLaunch(facts_, shape, result.blocks, result.touched));
    }
    return absl::OkStatus();
  }

  const v1::DeviceFacts facts_;
  SimulatedDeviceOptions options_;
  Memory memory_;
};

// The sim targets are compiled for this instruction set; see CMakeLists.txt.
bool ProcessorIsRecentEnough() {
#if defined(__AVX2__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
  return true;
#endif
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenSimulatedDevice(std::string_view profile,
                                                            const SimulatedDeviceOptions& options) {
  if (!ProcessorIsRecentEnough()) {
    return absl::UnavailableError(
        "This build of the simulator needs a processor with AVX2, FMA and BMI2; configure with -DFSR_SIM_X86_64_V3=OFF "
        "for an older one.");
  }
  std::optional<v1::DeviceFacts> facts = FindProfile(profile);
  if (!facts.has_value()) {
    return absl::InvalidArgumentError(
        fmt::format("There is no simulated device {}; there are: {}.", profile, fmt::join(ProfileNames(), ", ")));
  }
  const uint64_t machine_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  const uint64_t memory_bytes = std::min<uint64_t>(facts->memory_bytes(), machine_bytes);
  return std::make_unique<SimulatedDevice>(*std::move(facts), options, memory_bytes);
}

}  // namespace fsr::sim
