// table and bandwidth: what searches found, read from the outputs of `fsr run TASK --json` in a folder, beside the
// rates of this GPU, which are measured now.
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <filesystem>

#include "common/files.h"
#include "common/launch_plan.h"
#include "common/size_expression.h"
#include "common/status_macros.h"
#include "fsr/v1/search.pb.h"
#include "tests/gpu/bench.h"
#include "worker/meter/cuda_meter.h"
#include "worker/meter/gpu_lock.h"

namespace fsr {
namespace {

constexpr size_t kJobBytesMax = 64 << 20;

absl::StatusOr<v1::Job> ReadJob(const std::string& folder, const std::string& task) {
  const std::filesystem::path path = std::filesystem::path(folder) / (task + ".json");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kJobBytesMax));
  v1::Job job;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (const auto parsed = google::protobuf::util::JsonStringToMessage(text, &job, options); !parsed.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("{} is no output of fsr run --json: {}", path.string(), parsed.ToString()));
  }
  return job;
}

absl::StatusOr<v1::DeviceFacts> ProbedFacts(const std::string& device) {
  ASSIGN_OR_RETURN(const std::unique_ptr<cuda::CudaDevice> gpu, OpenGpu(device));
  ASSIGN_OR_RETURN(const std::unique_ptr<GpuLock> lock, GpuLock::Take(gpu->facts().uuid()));
  v1::DeviceFacts facts = gpu->facts();
  RETURN_IF_ERROR(ProbeDevice(*gpu, facts));
  return facts;
}

void PrintRates(const v1::DeviceFacts& facts) {
  fmt::print(
      "{}, driver {}: copy {:.0f} GB/s measured ({:.0f} by the data sheet), f32 {:.1f} TFLOP/s measured ({:.1f} "
      "by the data sheet), empty launch {:.2f} us.\n",
      facts.name(), facts.driver_version(), facts.measured_copy_gb_per_s(), facts.memory_bandwidth_gb_per_s(),
      facts.measured_f32_tflops(), facts.f32_peak_tflops(), facts.launch_overhead_us());
}

absl::StatusOr<double> LeastBytes(const v1::Task& task) {
  ASSIGN_OR_RETURN(const SizeExpression bytes, SizeExpression::Parse(task.work().bytes()));
  ASSIGN_OR_RETURN(const SizeBindings sizes, BindSizes(task, task.measure()));
  ASSIGN_OR_RETURN(const int64_t count, bytes.Evaluate(sizes));
  return static_cast<double>(count);
}

}  // namespace

absl::Status BenchTable(const BenchOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<v1::Task> tasks, ChosenTasks(options));
  ASSIGN_OR_RETURN(const v1::DeviceFacts facts, ProbedFacts(options.device));
  MarkdownTable table({"task", "baseline us", "winner us", "speed-up", "evaluated", "floor us (measured rates)",
                       "floor us (data sheet)", "share of measured floor"});
  for (const v1::Task& task : tasks) {
    const absl::StatusOr<v1::Job> job = ReadJob(options.folder, task.name());
    if (!job.ok()) {
      fmt::print(stderr, "table: {}\n", std::string(job.status().message()));
      table.Add({task.name(), "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    ASSIGN_OR_RETURN(const double floor, FloorMicroseconds(task, task.measure(), facts));
    ASSIGN_OR_RETURN(const double sheet, FloorMicroseconds(task, task.measure(), facts, FloorRates::kDataSheet));
    const double best = job->best_latency_us();
    table.Add({task.name(), fmt::format("{:.1f}", job->baseline_latency_us()), fmt::format("{:.1f}", best),
               fmt::format("{:.2f}", job->speedup()), fmt::format("{}", job->evaluation_count()),
               fmt::format("{:.1f}", floor), fmt::format("{:.1f}", sheet),
               best > 0 ? fmt::format("{:.1f} %", 100 * floor / best) : "-"});
  }
  table.Print();
  PrintRates(facts);
  return absl::OkStatus();
}

absl::Status BenchBandwidth(const BenchOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<v1::Task> tasks, ChosenTasks(options, {"transpose", "reduction", "dot_product"}));
  ASSIGN_OR_RETURN(const v1::DeviceFacts facts, ProbedFacts(options.device));
  MarkdownTable table({"task", "bytes", "winner us", "GB/s", "share of copy", "asked for"});
  for (const v1::Task& task : tasks) {
    ASSIGN_OR_RETURN(const v1::Job job, ReadJob(options.folder, task.name()));
    ASSIGN_OR_RETURN(const double bytes, LeastBytes(task));
    const double gb_per_s = job.best_latency_us() > 0 ? bytes / job.best_latency_us() / 1e3 : 0;
    table.Add({task.name(), fmt::format("{:.0f}", bytes), fmt::format("{:.1f}", job.best_latency_us()),
               fmt::format("{:.0f}", gb_per_s),
               fmt::format("{:.1f} %", 100 * gb_per_s / facts.measured_copy_gb_per_s()),
               task.name() == "transpose" ? "90 %" : "85 %"});
  }
  table.Print();
  PrintRates(facts);
  return absl::OkStatus();
}

}  // namespace fsr
