// cold and once: the meter's cold times beside those of a profiler. ncu.sh runs the profiler on `once` and joins the
// two.
#include <fmt/format.h>

#include <algorithm>

#include "common/status_macros.h"
#include "tests/gpu/bench.h"
#include "tests/gpu/lab.h"
#include "worker/judge/bench.h"
#include "worker/meter/cuda_sampler.h"
#include "worker/meter/gpu_lock.h"

namespace fsr {
namespace {

constexpr int kEmptyPairs = 25;
constexpr absl::Duration kRunLimit = absl::Seconds(10);

absl::StatusOr<std::string> SourceOf(const v1::Task& task, const std::string& kernel) {
  if (kernel == "baseline") return task.baseline_source();
  if (kernel == "tunable") return task.tunable_source();
  return absl::InvalidArgumentError(fmt::format("\"{}\" is no kernel of a task; use baseline or tunable.", kernel));
}

// A kernel on its task's measured case, in this process, with data in place.
struct Ready {
  std::unique_ptr<Bench> bench;
  std::unique_ptr<LoadedKernel> loaded;
};

absl::StatusOr<Ready> MakeReady(cuda::CudaDevice& gpu, Compiler& compiler, const v1::Task& task,
                                const std::string& source, uint64_t seed) {
  ASSIGN_OR_RETURN(const LoadableKernel kernel, CompileFor(compiler, task, source, gpu.facts().architecture()));
  Ready ready;
  ASSIGN_OR_RETURN(ready.bench, Bench::Create(gpu, task, task.measure()));
  RETURN_IF_ERROR(ready.bench->DrawInputs(seed));
  ASSIGN_OR_RETURN(Bench::LoadResult loaded, ready.bench->Load(kernel));
  if (loaded.failure) return absl::InternalError(loaded.failure->fault.message());
  ready.loaded = std::move(loaded.kernel);
  KernelRun run;
  RETURN_IF_ERROR(ready.bench->Prepare(*ready.loaded, PoisonKind::kExtreme, seed, run));
  return ready;
}

absl::StatusOr<cuda::PreparedPlan> PlanOf(cuda::CudaDevice& gpu, Ready& ready) {
  ASSIGN_OR_RETURN(auto prepared,
                   gpu.Prepare(*ready.loaded->module, ready.loaded->plan, ready.bench->BuffersOf(*ready.loaded)));
  if (prepared.failure) return absl::InternalError(prepared.failure->fault.message());
  return std::move(prepared.plan);
}

absl::Status RunOnce(cuda::CudaDevice& gpu, cuda::PreparedPlan& plan) {
  auto failure = gpu.Enqueue(plan);
  if (const auto waited = gpu.Await(kRunLimit); waited && !failure) failure = waited;
  if (failure) return absl::InternalError(failure->fault.message());
  return absl::OkStatus();
}

// Medians of cold samples of the whole plan, and of its kernels without the fills: a profiler sees no fill.
struct ColdTimes {
  double plan_us = 0, kernels_us = 0;
};

absl::StatusOr<ColdTimes> TimeCold(cuda::CudaDevice& gpu, CudaSampler& sampler, Ready& ready, int count) {
  ASSIGN_OR_RETURN(cuda::PreparedPlan whole, PlanOf(gpu, ready));
  ASSIGN_OR_RETURN(cuda::PreparedPlan kernels, PlanOf(gpu, ready));
  kernels.fills.clear();
  RETURN_IF_ERROR(RunOnce(gpu, whole));
  ASSIGN_OR_RETURN(const double empty_us, sampler.EmptyPairMicroseconds(kEmptyPairs));
  cuda::PreparedPlan* const plans[] = {&whole, &kernels};
  const size_t order[] = {0, 1};
  std::vector<double> whole_us, kernels_us;
  for (int tries = 0; tries < 2 * count && std::ssize(whole_us) < count; ++tries) {
    ASSIGN_OR_RETURN(const CudaSampler::Batch batch,
                     sampler.Cold(
                         plans, order, [](size_t) { return absl::OkStatus(); }, kRunLimit));
    if (batch.failure) return absl::InternalError(batch.failure->fault.message());
    if (batch.microseconds.empty()) {
      RETURN_IF_ERROR(sampler.WakeUp());
      continue;
    }
    whole_us.push_back(batch.microseconds[0] - empty_us);
    kernels_us.push_back(batch.microseconds[1] - empty_us);
  }
  if (whole_us.empty()) return absl::UnavailableError("The GPU's clock was too low for every sample.");
  return ColdTimes{MedianOf(whole_us), MedianOf(kernels_us)};
}

}  // namespace

// Lines "task kernel launches plan_us kernels_us", for ncu.sh.
absl::Status BenchCold(const BenchOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<v1::Task> tasks, ChosenTasks(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<cuda::CudaDevice> gpu, OpenGpu(options.device));
  ASSIGN_OR_RETURN(const std::unique_ptr<GpuLock> lock, GpuLock::Take(gpu->facts().uuid()));
  ASSIGN_OR_RETURN(const std::unique_ptr<CudaSampler> sampler, CudaSampler::Create(*gpu));
  const std::unique_ptr<Compiler> compiler = NewLabCompiler();
  for (const v1::Task& task : tasks) {
    for (const char* name : {"baseline", "tunable"}) {
      ASSIGN_OR_RETURN(const std::string source, SourceOf(task, name));
      ASSIGN_OR_RETURN(Ready ready, MakeReady(*gpu, *compiler, task, source, options.seed));
      ASSIGN_OR_RETURN(const ColdTimes times, TimeCold(*gpu, *sampler, ready, options.count));
      fmt::print("{} {} {} {:.3f} {:.3f}\n", task.name(), name, ready.loaded->plan.launches.size(), times.plan_us,
                 times.kernels_us);
      std::fflush(stdout);
    }
  }
  return absl::OkStatus();
}

// Nothing but the kernel's own launches, for a profiler that looks at this process.
absl::Status BenchOnce(const BenchOptions& options) {
  if (options.tasks.size() != 1) return absl::InvalidArgumentError("once needs one task.");
  ASSIGN_OR_RETURN(const v1::Task task, BundledTask(options.tasks.front()));
  ASSIGN_OR_RETURN(const std::string source, SourceOf(task, options.kernel));
  ASSIGN_OR_RETURN(const std::unique_ptr<cuda::CudaDevice> gpu, OpenGpu(options.device));
  const std::unique_ptr<Compiler> compiler = NewLabCompiler();
  ASSIGN_OR_RETURN(Ready ready, MakeReady(*gpu, *compiler, task, source, options.seed));
  ASSIGN_OR_RETURN(cuda::PreparedPlan plan, PlanOf(*gpu, ready));
  for (int i = 0; i < options.count; ++i) RETURN_IF_ERROR(RunOnce(*gpu, plan));
  return absl::OkStatus();
}

}  // namespace fsr
