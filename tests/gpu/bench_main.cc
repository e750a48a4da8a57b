// gpu_bench: figures of a real GPU, as markdown tables. run.sh runs every part.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>

#include "common/status.h"
#include "tests/gpu/bench.h"

namespace fsr {
namespace {

using Part = absl::Status (*)(const BenchOptions&);

struct Wants {
  bool seconds = false, tasks = false, full = false, folder = false, seed = false;
};

struct CommandLine {
  CLI::App app{"Figures of a GPU, as markdown tables"};
  BenchOptions options;
  Part chosen = nullptr;

  CLI::App* Add(const char* name, const char* what, Part part, int count, const Wants& wants) {
    CLI::App* command = app.add_subcommand(name, what);
    if (count > 0) {
      // The default depends on the part, so it is set when the part is chosen.
      command->add_option("--count", options.count, fmt::format("How many (default {})", count));
    }
    command->add_option("--device", options.device, "cuda:N")->capture_default_str();
    if (wants.seconds) command->add_option("--seconds", options.seconds, "Stop after so long, and say how far it came");
    if (wants.tasks) command->add_option("tasks", options.tasks, "Bundled tasks, by name");
    if (wants.full) command->add_flag("--full", options.full, "The tasks' own sizes instead of the simulator's");
    if (wants.folder) command->add_option("--folder", options.folder, "Where files are read or written")->required();
    if (wants.seed) command->add_option("--seed", options.seed, "Of choices and data")->capture_default_str();
    command->callback([this, part, count] {
      chosen = part;
      if (options.count == 0) options.count = count;
    });
    return command;
  }
};

int Main(int argc, char** argv) {
  CommandLine line;
  line.app.require_subcommand(1);
  line.Add("aa", "Kernels against themselves: verdicts other than SAME", &BenchSelfComparison, 300,
           {.seconds = true, .tasks = true, .full = true});
  line.Add("stages", "Where the time of an evaluation goes, task by task", &BenchStages, 5,
           {.seconds = true, .tasks = true, .full = true});
  line.Add("faults", "Right kernels between all ways to break", &BenchFaults, 300, {.seconds = true});
  CLI::App* simulator = line.Add("simulator", "The same kernels simulated and on the GPU; --count variants a task",
                                 &BenchSimulator, 10, {.tasks = true, .seed = true});
  simulator->add_flag("--only-simulated", line.options.only_simulated, "Without the GPU's half");
  CLI::App* approx =
      line.Add("approx", "Approximate instructions simulated and on the GPU, for all inputs of some ranges",
               &BenchApprox, 0, {});
  approx->add_option("--folder", line.options.folder, "Where the results are written, if they are to be kept");
  line.Add("table", "Baseline, winner and floor of every task, from FOLDER/TASK.json of fsr run --json", &BenchTable, 0,
           {.tasks = true, .folder = true});
  line.Add("bandwidth", "Winners' bandwidth against a copy's, from FOLDER/TASK.json of fsr run --json", &BenchBandwidth,
           0, {.tasks = true, .folder = true});
  line.Add("cold", "The meter's cold times of baselines and tunables: task kernel launches plan_us kernels_us",
           &BenchCold, 30, {.tasks = true, .seed = true});
  CLI::App* once =
      line.Add("once", "Launches one kernel a few times, for a profiler", &BenchOnce, 5, {.tasks = true, .seed = true});
  once->add_option("--kernel", line.options.kernel, "baseline or tunable")->required();
  line.Add("rate", "Evaluates tunable variants of a task and keeps their files in FOLDER", &BenchRate, 10,
           {.tasks = true, .folder = true, .seed = true});
  CLI11_PARSE(line.app, argc, argv);
  const absl::Status status = line.chosen(line.options);
  if (status.ok()) return 0;
  fmt::print(stderr, "gpu_bench: {}\n", MessageOf(status));
  return 2;
}

}  // namespace
}  // namespace fsr

int main(int argc, char** argv) { return fsr::Main(argc, argv); }
