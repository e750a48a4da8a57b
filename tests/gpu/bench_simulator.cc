// simulator: the same kernels on the same sizes and inputs, simulated and on the GPU. Same outcome, same numbers, same
// order of times?
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "common/element_type.h"
#include "common/random.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "tests/gpu/bench.h"
#include "tests/gpu/lab.h"
#include "tests/gpu/ulp.h"
#include "tests/gpu/variants.h"
#include "worker/judge/bench.h"

namespace fsr {
namespace {

constexpr char kSimulated[] = "sim:h200";
constexpr absl::Duration kSimulatedRunLimit = absl::Minutes(5);
constexpr unsigned kThreadsMax = 8;

// One kernel on one device.
struct Half {
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  double us = 0;
  std::vector<HostBuffer> outputs;
};

struct Row {
  Variant kernel;
  LoadableKernel compiled = {};
  Half simulated = {}, measured = {};
};

struct TaskRows {
  v1::Task task;
  std::vector<ResolvedBuffer> buffers;
  std::vector<Row> rows;
  absl::Status status;
};

// One run on inputs that depend on the seed alone; `half.us` is set where the device estimates.
absl::Status RunRaw(Device& device, const v1::Task& task, const LoadableKernel& kernel, uint64_t seed, Half& half,
                    std::vector<ResolvedBuffer>& buffers) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Bench> bench, Bench::Create(device, task, task.measure()));
  RETURN_IF_ERROR(bench->DrawInputs(seed));
  ASSIGN_OR_RETURN(Bench::LoadResult loaded, bench->Load(kernel));
  if (loaded.failure) return absl::InternalError(loaded.failure->fault.message());
  Device::RunOptions options;
  options.time_limit = kSimulatedRunLimit;
  options.estimate = device.facts().simulated();
  ASSIGN_OR_RETURN(KernelRun run, bench->Run(*loaded.kernel, PoisonKind::kExtreme, seed, options));
  if (run.report.failure) return absl::InternalError(run.report.failure->fault.message());
  if (run.report.estimate) half.us = run.report.estimate->latency_us();
  half.outputs = std::move(run.outputs);
  buffers = bench->buffers();
  return absl::OkStatus();
}

absl::Status Simulate(Compiler& compiler, uint64_t seed, TaskRows& all) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, OpenDevice(kSimulated));
  const std::string architecture = device->facts().architecture();
  ASSIGN_OR_RETURN(const LoadableKernel oracle, CompileFor(compiler, all.task, all.task.oracle_source(), architecture));
  for (Row& row : all.rows) {
    ASSIGN_OR_RETURN(row.compiled, CompileFor(compiler, all.task, row.kernel.source, architecture));
    JudgeOptions options;
    options.seed = seed;
    options.run_limit = kSimulatedRunLimit;
    ASSIGN_OR_RETURN(const Judgement judgement, Judge(*device, all.task, row.compiled, oracle, options));
    row.simulated.outcome = judgement.outcome;
    if (judgement.outcome != v1::MEASURED) continue;
    RETURN_IF_ERROR(RunRaw(*device, all.task, row.compiled, seed, row.simulated, all.buffers));
  }
  return absl::OkStatus();
}

// Each task on a device and a thread of its own.
void SimulateAll(Compiler& compiler, uint64_t seed, std::vector<TaskRows>& tasks) {
  absl::Mutex mutex;
  size_t next = 0;
  auto work = [&] {
    for (;;) {
      size_t mine;
      {
        absl::MutexLock lock(&mutex);
        mine = next++;
      }
      if (mine >= tasks.size()) return;
      tasks[mine].status = Simulate(compiler, seed, tasks[mine]);
      fmt::print(stderr, "simulator: {} simulated\n", tasks[mine].task.name());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::clamp(std::thread::hardware_concurrency(), 1u, kThreadsMax); ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) thread.join();
}

absl::Status MeasureOnGpu(cuda::CudaDevice& gpu, Lab& lab, Compiler& compiler, uint64_t seed, TaskRows& all) {
  for (Row& row : all.rows) {
    ASSIGN_OR_RETURN(const Lab::Timed timed, lab.Evaluate(SpecOf(all.task, row.kernel.source, "")));
    row.measured.outcome = timed.evaluation.outcome();
    if (row.measured.outcome != v1::MEASURED) continue;  // it might break this process's device, too
    row.measured.us = timed.evaluation.measurement().latency_us();
    if (row.compiled.compiled.architecture != gpu.facts().architecture()) {
      ASSIGN_OR_RETURN(row.compiled, CompileFor(compiler, all.task, row.kernel.source, gpu.facts().architecture()));
    }
    RETURN_IF_ERROR(RunRaw(gpu, all.task, row.compiled, seed, row.measured, all.buffers));
  }
  return absl::OkStatus();
}

struct Agreement {
  int same_outcome = 0, equal_bits = 0, compared = 0;
  UlpDistance worst;
  std::vector<double> estimated, measured;
};

Agreement Compare(const TaskRows& all) {
  Agreement agreement;
  for (const Row& row : all.rows) {
    if (row.simulated.outcome == row.measured.outcome) ++agreement.same_outcome;
    if (row.simulated.outcome != v1::MEASURED || row.measured.outcome != v1::MEASURED) continue;
    UlpDistance distance;
    for (size_t i = 0; i < all.buffers.size(); ++i) {
      if (row.simulated.outputs[i].empty()) continue;
      distance.Add(all.buffers[i].type, row.simulated.outputs[i].bytes(), row.measured.outputs[i].bytes());
    }
    ++agreement.compared;
    if (distance.largest == 0) ++agreement.equal_bits;
    agreement.worst.Add(distance);
    agreement.estimated.push_back(row.simulated.us);
    agreement.measured.push_back(row.measured.us);
  }
  return agreement;
}

std::string OutcomeText(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_UNSPECIFIED ? "-" : v1::Outcome_Name(outcome);
}

void PrintKernels(const std::vector<TaskRows>& tasks) {
  MarkdownTable table({"task", "kernel", "simulated", "measured", "estimate us", "time us"});
  for (const TaskRows& all : tasks) {
    for (const Row& row : all.rows) {
      table.Add({all.task.name(), row.kernel.label, OutcomeText(row.simulated.outcome),
                 OutcomeText(row.measured.outcome), fmt::format("{:.2f}", row.simulated.us),
                 fmt::format("{:.2f}", row.measured.us)});
    }
  }
  table.Print();
}

void PrintAgreement(const std::vector<TaskRows>& tasks) {
  MarkdownTable table({"task", "kernels", "same outcome", "outputs equal bit for bit", "largest distance, ulp",
                       "elements beyond 2 ulp", "rank correlation of times"});
  for (const TaskRows& all : tasks) {
    const Agreement agreement = Compare(all);
    table.Add({all.task.name(), fmt::format("{}", all.rows.size()), fmt::format("{}", agreement.same_outcome),
               fmt::format("{} of {}", agreement.equal_bits, agreement.compared),
               fmt::format("{}", agreement.worst.largest), fmt::format("{}", agreement.worst.beyond_two),
               fmt::format("{:.3f}", RankCorrelation(agreement.estimated, agreement.measured))});
  }
  table.Print();
}

}  // namespace

absl::Status BenchSimulator(const BenchOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<v1::Task> chosen, ChosenTasks(options));
  std::vector<TaskRows> tasks;
  for (const v1::Task& task : chosen) {
    TaskRows all;
    all.task = WithSimulatedSizes(task);
    all.rows.push_back({.kernel = {"baseline", task.baseline_source()}});
    ASSIGN_OR_RETURN(std::vector<Variant> variants, TunableVariants(task, options.count, options.seed));
    for (Variant& variant : variants) all.rows.push_back({.kernel = std::move(variant)});
    tasks.push_back(std::move(all));
  }
  const std::unique_ptr<Compiler> compiler = NewLabCompiler();
  const Budget budget(options);
  SimulateAll(*compiler, options.seed, tasks);
  for (const TaskRows& all : tasks) RETURN_IF_ERROR(WithContext("simulating " + all.task.name(), all.status));
  fmt::print(stderr, "simulator: simulated after {:.0f} s\n", budget.Spent());
  if (!options.only_simulated) {
    ASSIGN_OR_RETURN(const std::unique_ptr<cuda::CudaDevice> gpu, OpenGpu(options.device));
    ASSIGN_OR_RETURN(const std::unique_ptr<Lab> lab, Lab::Open(options.device));
    for (TaskRows& all : tasks) {
      RETURN_IF_ERROR(
          WithContext("measuring " + all.task.name(), MeasureOnGpu(*gpu, *lab, *compiler, options.seed, all)));
    }
    PrintAgreement(tasks);
  }
  PrintKernels(tasks);
  fmt::print("{} tasks in {:.0f} s, seed {}.\n", tasks.size(), budget.Spent(), options.seed);
  return absl::OkStatus();
}

}  // namespace fsr
