#include "tests/gpu/lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "common/clock.h"
#include "common/files.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "common/task_loader.h"
#include "worker/runner/plans.h"

namespace fsr {
namespace {

constexpr uint64_t kCacheBytesMax = uint64_t{256} << 20;
constexpr int kCompileProcesses = 2;
constexpr absl::Duration kCompileLimit = absl::Seconds(60);

std::string WorkerProgram() { return (ProgramFolder() / "fsr-worker").string(); }

}  // namespace

absl::StatusOr<v1::Task> BundledTask(const std::string& name) {
  ASSIGN_OR_RETURN(const std::filesystem::path data, DataFolder());
  return LoadTask(data / "tasks" / name);
}

absl::StatusOr<std::vector<v1::Task>> BundledTasks() {
  ASSIGN_OR_RETURN(const std::filesystem::path data, DataFolder());
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(data / "tasks", error)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  if (error) return absl::NotFoundError(fmt::format("{}/tasks cannot be read: {}.", data.string(), error.message()));
  std::sort(names.begin(), names.end());
  std::vector<v1::Task> tasks;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(v1::Task task, BundledTask(name));
    tasks.push_back(std::move(task));
  }
  return tasks;
}

v1::Task WithSimulatedSizes(v1::Task task) {
  if (task.has_measure_simulated()) *task.mutable_measure() = task.measure_simulated();
  return task;
}

std::string Renewed(const std::string& source, int number) { return fmt::format("{}// run {}\n", source, number); }

v1::EvaluationSpec SpecOf(const v1::Task& task, const std::string& source, const std::string& reference) {
  v1::EvaluationSpec spec;
  *spec.mutable_task() = task;
  spec.set_source(source);
  spec.set_seed(RandomSeed());
  if (!reference.empty()) {
    v1::Reference& added = *spec.add_references();
    added.set_against(v1::Comparison::BASELINE);
    added.set_source(reference);
  }
  return spec;
}

absl::StatusOr<std::unique_ptr<Lab>> Lab::Open(const std::string& device) {
  auto lab = std::unique_ptr<Lab>(new Lab());
  std::string folder = (std::filesystem::temp_directory_path() / "fsr-gpu-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::InternalError(fmt::format("No folder for compiled kernels can be made at {}.", folder));
  }
  lab->cache_ = folder;
  lab->compiler_ = NewCachingCompiler(NewProcessCompiler(WorkerProgram(), kCompileProcesses), folder, kCacheBytesMax);
  ASSIGN_OR_RETURN(lab->evaluator_,
                   Evaluator::Create({.device = device, .worker_program = WorkerProgram()}, lab->compiler_.get()));
  return lab;
}

Lab::~Lab() {
  evaluator_.reset();
  std::error_code ignored;  // a leftover in the temporary folder harms nobody
  std::filesystem::remove_all(cache_, ignored);
}

absl::StatusOr<Lab::Timed> Lab::Evaluate(const v1::EvaluationSpec& spec) {
  const absl::Time start = SystemClock()->Now();
  ASSIGN_OR_RETURN(auto prepared, evaluator_->Prepare(spec));
  Timed timed;
  ASSIGN_OR_RETURN(timed.evaluation, evaluator_->Run(std::move(prepared), [](std::string_view) {}));
  timed.seconds = absl::ToDoubleSeconds(SystemClock()->Now() - start);
  return timed;
}

std::unique_ptr<Compiler> NewLabCompiler() { return NewProcessCompiler(WorkerProgram(), kCompileProcesses); }

absl::StatusOr<LoadableKernel> CompileFor(Compiler& compiler, const v1::Task& task, const std::string& source,
                                          const std::string& architecture) {
  LoadableKernel kernel;
  ASSIGN_OR_RETURN(kernel.plan, PlanOfCandidate(source, task));
  ASSIGN_OR_RETURN(CompileResult result,
                   compiler.Compile(RequestOf(kernel.plan, source, task.name() + ".cu", architecture, kCompileLimit)));
  if (!result.ok) {
    return absl::InvalidArgumentError(
        fmt::format("A kernel of {} does not compile: {}{}", task.name(), result.launch_error, result.log));
  }
  kernel.compiled = std::move(result.kernel);
  return kernel;
}

}  // namespace fsr
