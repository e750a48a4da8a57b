// How long NVRTC takes for the kernels of the bundled tasks, warm, in a child process; and a hit of the compile cache.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "common/files.h"
#include "common/launch_plan.h"
#include "common/task_loader.h"
#include "worker/compile/compiler.h"

namespace {

constexpr int kRepeats = 9;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double MillisecondsOf(fsr::Compiler& compiler, const fsr::CompileRequest& request, bool* hit) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = compiler.Compile(request);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  if (!result.ok() || !result->ok) {
    fmt::print(stderr, "it does not compile: {}\n", result.ok() ? result->log : std::string(result.status().message()));
    std::exit(1);
  }
  *hit = result->kernel.cache_hit;
  return took.count();
}

}  // namespace

int main() {
  const auto data = fsr::DataFolder();
  if (!data.ok()) return 1;
  const std::string worker = (fsr::ProgramFolder() / "fsr-worker").string();
  const auto cache_folder = std::filesystem::temp_directory_path() / fmt::format("fsr-compile-bench-{}", getpid());
  auto plain = fsr::NewProcessCompiler(worker, 1);
  auto caching = fsr::NewCachingCompiler(fsr::NewProcessCompiler(worker, 1), cache_folder.string(), uint64_t{1} << 30);
  fmt::print("{:<14} {:>16} {:>14}\n", "task", "compile ms", "cache hit ms");
  std::vector<double> compiles, hits;
  for (const auto& entry : std::filesystem::directory_iterator(*data / "tasks")) {
    const auto task = fsr::LoadTask(entry.path());
    if (!task.ok()) continue;
    const auto plan = fsr::ParseLaunchPlan(task->baseline_source(), *task);
    if (!plan.ok()) return 1;
    fsr::CompileRequest request{
        .source = task->baseline_source(), .architecture = "sm_90a", .options = fsr::CompileDefinitions(*plan)};
    for (const fsr::Launch& launch : plan->launches) request.kernels.push_back(launch.kernel);
    bool hit = false;
    MillisecondsOf(*plain, request, &hit);
    MillisecondsOf(*caching, request, &hit);
    std::vector<double> compile, cached;
    for (int i = 0; i < kRepeats; ++i) {
      compile.push_back(MillisecondsOf(*plain, request, &hit));
      cached.push_back(MillisecondsOf(*caching, request, &hit));
      if (!hit) return 1;
    }
    fmt::print("{:<14} {:>16.1f} {:>14.2f}\n", task->name(), Median(compile), Median(cached));
    compiles.insert(compiles.end(), compile.begin(), compile.end());
    hits.insert(hits.end(), cached.begin(), cached.end());
  }
  fmt::print("{:<14} {:>16.1f} {:>14.2f}   medians\n", "all", Median(compiles), Median(hits));
  std::error_code ignored;
  std::filesystem::remove_all(cache_folder, ignored);
  return 0;
}
