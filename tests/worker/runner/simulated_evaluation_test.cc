// Whole evaluations, as a worker does them: the real program's children, NVRTC, and a simulated device.
#include <catch2/catch.hpp>

#include "common/task_loader.h"
#include "worker/runner/evaluate.h"

namespace fsr {
namespace {

constexpr char kProgram[] = FSR_BIN_DIR "/fsr-worker";

// One for all tests: its children start once.
Evaluator& Simulated() {
  static Compiler* compiler = NewProcessCompiler(kProgram, 1).release();
  static Evaluator* evaluator = [] {
    auto created = Evaluator::Create({.device = "sim:h200", .worker_program = kProgram}, compiler);
    INFO(created.status().ToString());
    REQUIRE(created.ok());
    return created->release();
  }();
  return *evaluator;
}

v1::Task Transpose() {
  auto task = LoadTask(FSR_SOURCE_DIR "/tasks/transpose");
  REQUIRE(task.ok());
  (*task->mutable_measure_simulated()->mutable_sizes())["rows"] = 256;
  (*task->mutable_measure_simulated()->mutable_sizes())["cols"] = 256;
  return *std::move(task);
}

v1::Evaluation Evaluate(const v1::Task& task, const std::string& source) {
  v1::EvaluationSpec spec;
  *spec.mutable_task() = task;
  spec.set_source(source);
  spec.set_seed(12345);
  v1::Reference& baseline = *spec.add_references();
  baseline.set_against(v1::Comparison::BASELINE);
  baseline.set_source(task.baseline_source());
  auto prepared = Simulated().Prepare(spec);
  INFO(prepared.status().ToString());
  REQUIRE(prepared.ok());
  auto evaluation = Simulated().Run(*prepared, [](std::string_view) {});
  INFO(evaluation.status().ToString());
  REQUIRE(evaluation.ok());
  return *std::move(evaluation);
}

// The baseline with its one statement replaced.
std::string Kernel(const std::string& statement) {
  return "// fsr: launch transpose grid=(ceil_div(cols, 32), ceil_div(rows, 8)) block=(32, 8)\n"
         "extern \"C\" __global__ void transpose(const float* input, float* output, int rows, int cols) {\n"
         "  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;\n"
         "  " +
         statement + "\n}\n";
}

constexpr char kRight[] = "if (r < rows && c < cols) output[(size_t)c * rows + r] = input[(size_t)r * cols + c];";

TEST_CASE("a right kernel is measured and compared with the baseline") {
  const v1::Task task = Transpose();
  const v1::Evaluation evaluation = Evaluate(task, Kernel(kRight));
  INFO(evaluation.diagnosis());
  REQUIRE(evaluation.outcome() == v1::MEASURED);
  CHECK(evaluation.cases_size() == task.cases_size() + 1);
  CHECK(evaluation.measurement().estimated());
  CHECK(evaluation.measurement().latency_us() > 0);
  REQUIRE(evaluation.comparisons_size() == 1);
  CHECK(evaluation.comparisons(0).ratio() == Approx(1.0).epsilon(0.02));  // it is the baseline in other words
  REQUIRE(evaluation.resources_size() == 1);
  CHECK(evaluation.resources(0).registers_per_thread() > 0);
  CHECK(evaluation.diagnosis().find("an estimate") != std::string::npos);
}

TEST_CASE("each way to be wrong has its outcome and says what happened") {
  const v1::Task task = Transpose();
  struct Wrong {
    const char* statement;
    v1::Outcome outcome;
    const char* said;
  };
  for (const Wrong& wrong : {
           Wrong{"if (r < rows && c < cols) output[(size_t)r * cols + c] = input[(size_t)r * cols + c];", v1::MISMATCH,
                 "elements are wrong"},
           Wrong{"if (r < rows && c < cols) output[(size_t)c * rows + r] = 0;", v1::MISMATCH, "elements are wrong"},
           Wrong{"", v1::MISMATCH, "never written"},
           Wrong{"output[(size_t)c * rows + r] = input[(size_t)r * cols + c];", v1::RUNTIME_FAULT, "past its end"},
           Wrong{"output[c * rows + r] = undefined;", v1::COMPILE_ERROR, "identifier \"undefined\" is undefined"},
       }) {
    const v1::Evaluation evaluation = Evaluate(task, Kernel(wrong.statement));
    INFO(wrong.statement << "\n" << evaluation.ShortDebugString());
    CHECK(evaluation.outcome() == wrong.outcome);
    CHECK(evaluation.diagnosis().find(wrong.said) != std::string::npos);
    CHECK_FALSE(evaluation.signature().empty());
    CHECK_FALSE(evaluation.has_measurement());
  }
}

TEST_CASE("a kernel that never ends is stopped and is a timeout") {
  v1::EvaluationSpec spec;
  *spec.mutable_task() = Transpose();
  spec.set_source(Kernel("volatile int* forever = (volatile int*)output; while (true) forever[0] = c;"));
  spec.mutable_limits()->set_run_seconds(0.5);
  auto prepared = Simulated().Prepare(spec);
  REQUIRE(prepared.ok());
  auto evaluation = Simulated().Run(*prepared, [](std::string_view) {});
  REQUIRE(evaluation.ok());
  CHECK(evaluation->outcome() == v1::TIMEOUT);
  CHECK(Evaluate(spec.task(), Kernel(kRight)).outcome() == v1::MEASURED);
}

TEST_CASE("a failure on a held-out case tells nothing of that case") {
  const v1::Task task = Transpose();
  // Right but for 100 x 257, which is held out.
  const v1::Evaluation evaluation =
      Evaluate(task, Kernel("if (cols != 257 && r < rows && c < cols) "
                            "output[(size_t)c * rows + r] = input[(size_t)r * cols + c];"));
  CHECK(evaluation.outcome() == v1::MISMATCH);
  INFO(evaluation.diagnosis());
  CHECK(evaluation.diagnosis().find("held-out") != std::string::npos);
  CHECK(evaluation.diagnosis().find("257") == std::string::npos);
}

TEST_CASE("instructions that the task asks for decide after they were executed") {
  v1::Task task = Transpose();
  task.add_forbidden_instructions("ld.global");
  const v1::Evaluation forbidden = Evaluate(task, Kernel(kRight));
  CHECK(forbidden.outcome() == v1::REJECTED);
  CHECK(forbidden.diagnosis().find("forbids ld.global") != std::string::npos);
  CHECK(forbidden.executed_instructions().at("ld.global") > 0);

  task.clear_forbidden_instructions();
  task.add_required_instructions("bar.sync");
  // It stands in the code, and no thread ever reaches it.
  const v1::Evaluation never = Evaluate(task, Kernel(std::string("if (rows < 0) __syncthreads(); ") + kRight));
  CHECK(never.outcome() == v1::REJECTED);
  CHECK(never.executed_instructions().at("bar.sync") == 0);
  const v1::Evaluation executed = Evaluate(task, Kernel(std::string("__syncthreads(); ") + kRight));
  INFO(executed.diagnosis());
  CHECK(executed.outcome() == v1::MEASURED);
}

TEST_CASE("every task's own baseline is right") {
  for (const char* name : {"dot_product", "histogram", "prefix_sum", "reduction", "sigmoid", "transpose"}) {
    auto task = LoadTask(std::string(FSR_SOURCE_DIR "/tasks/") + name);
    REQUIRE(task.ok());
    v1::EvaluationSpec spec;
    *spec.mutable_task() = *task;
    spec.set_source(task->baseline_source());
    spec.set_judge_only(true);
    auto prepared = Simulated().Prepare(spec);
    REQUIRE(prepared.ok());
    auto evaluation = Simulated().Run(*prepared, [](std::string_view) {});
    INFO(name << ": " << evaluation.status().ToString());
    REQUIRE(evaluation.ok());
    INFO(evaluation->diagnosis());
    CHECK(evaluation->outcome() == v1::MEASURED);
    CHECK_FALSE(evaluation->has_measurement());
  }
}

}  // namespace
}  // namespace fsr
