// The kernels of the bundled tasks against C++: the oracle, which judges every candidate, has no other check than this.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "common/launch_plan.h"
#include "common/task_loader.h"
#include "tests/worker/tasks/cpu_oracles.h"
#include "tests/worker/tasks/task_bench.h"

namespace fsr {
namespace {

constexpr char kTasks[] = FSR_SOURCE_DIR "/tasks";

std::set<std::string> TaskFolders() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kTasks)) {
    if (entry.is_directory()) names.insert(entry.path().filename().string());
  }
  return names;
}

v1::Task Load(const std::string& name) {
  auto task = LoadTask(std::filesystem::path(kTasks) / name);
  INFO(task.status().ToString());
  REQUIRE(task.ok());
  return *std::move(task);
}

struct Allowance {
  double absolute, relative;
};

// Where and how the first wrong element differs.
std::optional<std::string> FirstDifference(const std::map<std::string, Numbers>& got,
                                           const std::map<std::string, Numbers>& expected, Allowance allowance) {
  if (got.size() != expected.size()) return "the outputs are not those of the C++ oracle";
  for (const auto& [name, numbers] : expected) {
    const auto found = got.find(name);
    if (found == got.end() || found->second.size() != numbers.size()) return name + " has not the size it should have";
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double error = std::fabs(found->second[i] - numbers[i]);
      if (error <= allowance.absolute + allowance.relative * std::fabs(numbers[i])) continue;
      return name + "[" + std::to_string(i) + "] is " + std::to_string(found->second[i]) + " and should be " +
             std::to_string(numbers[i]);
    }
  }
  return std::nullopt;
}

// An oracle must be as exact as its output type allows; other kernels, as the task allows.
Allowance AllowanceOf(const v1::Task& task, bool is_oracle) {
  const Allowance of_task{task.tolerance().absolute(), task.tolerance().relative()};
  if (!is_oracle) return of_task;
  constexpr double kFloatRounding = 0x1p-23, kDoubleSums = 1e-9;
  return {std::min(of_task.absolute, kDoubleSums), std::min(of_task.relative, kFloatRounding)};
}

void CheckKernel(const v1::Task& task, const std::string& source, const std::string& file_name) {
  TaskBench bench(task, source, file_name);
  const CpuOracle& oracle = CpuOracles().at(task.name());
  uint64_t seed = 1000;
  for (const v1::Case& which : task.cases()) {
    INFO("case " << NameOf(which));
    const TaskBench::Result result = bench.Run(which, seed += 100);
    const std::optional<std::string> difference =
        FirstDifference(result.outputs, oracle(result.numbers), AllowanceOf(task, file_name == "oracle.cu"));
    if (difference) FAIL(*difference);
  }
  SUCCEED();
}

TEST_CASE("every task folder has a C++ oracle") {
  std::set<std::string> names;
  for (const auto& [name, oracle] : CpuOracles()) names.insert(name);
  CHECK(names == TaskFolders());
}

TEST_CASE("every oracle, baseline and tunable kernel computes what its task describes") {
  for (const std::string& name : TaskFolders()) {
    const v1::Task task = Load(name);
    CHECK(task.name() == name);
    const std::pair<const char*, std::string> sources[] = {{"oracle.cu", task.oracle_source()},
                                                           {"baseline.cu", task.baseline_source()},
                                                           {"tunable.cu", task.tunable_source()}};
    for (const auto& [file_name, source] : sources) {
      if (source.empty()) continue;
      INFO(name << "/" << file_name);
      CheckKernel(task, source, file_name);
    }
  }
}

// One tunable at a time, so that a search that starts from the defaults never meets a wrong kernel in its first step.
TEST_CASE("every value of every tunable keeps the kernel right") {
  for (const std::string& name : TaskFolders()) {
    const v1::Task task = Load(name);
    if (task.tunable_source().empty()) continue;
    auto plan = ParseLaunchPlan(task.tunable_source(), task);
    REQUIRE(plan.ok());
    CHECK_FALSE(plan->tunables.empty());
    for (const Tunable& tunable : plan->tunables) {
      for (const int64_t value : tunable.values) {
        INFO(name << "/tunable.cu with " << tunable.name << " = " << value);
        const auto pinned = PinTunables(task.tunable_source(), {{tunable.name, value}});
        REQUIRE(pinned.ok());
        CheckKernel(task, *pinned, "tunable.cu");
      }
    }
  }
}

// What the checks above are worth: small mistakes in an oracle are seen.
TEST_CASE("an oracle with a small mistake differs from C++") {
  struct Mistake {
    const char *task, *right, *wrong;
  };
  const Mistake mistakes[] = {
      {"transpose", "c * rows + r", "c * rows + (rows - 1 - r)"},
      {"reduction", "i < n; i +=", "i < n - 1; i +="},
      {"prefix_sum", "double sum = parts[part];", "double sum = 0;"},
      {"monte_carlo", "sum / n", "sum / (n + 1)"},
      {"matmul", "double sum = 0;", "float sum = 0;"},
  };
  for (const Mistake& mistake : mistakes) {
    const v1::Task task = Load(mistake.task);
    std::string source = task.oracle_source();
    const size_t position = source.find(mistake.right);
    INFO(mistake.task << ": " << mistake.right);
    REQUIRE(position != std::string::npos);
    source.replace(position, std::string(mistake.right).size(), mistake.wrong);
    TaskBench bench(task, source, "mistaken.cu");
    bool seen = false;
    for (const v1::Case& which : task.cases()) {
      const TaskBench::Result result = bench.Run(which, 7);
      const auto expected = CpuOracles().at(task.name())(result.numbers);
      seen = seen || FirstDifference(result.outputs, expected, AllowanceOf(task, true)).has_value();
    }
    CHECK(seen);
  }
}

}  // namespace
}  // namespace fsr
