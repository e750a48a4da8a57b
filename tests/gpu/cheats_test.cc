// Kernels that would look right or fast to a careless harness.
#include "tests/gpu/gpu_fixture.h"

namespace fsr {
namespace {

// A second launch, after `twice`, counts the runs in `runs` and keeps the first inputs in `seen`.
std::string WithRunCounter(const std::string& before, const std::string& body) {
  return KernelFile({.body = body,
                     .launch = "grid=(ceil_div(n, 256)) block=(256)\n"
                               "// fsr: launch count_run grid=(1) block=(32) args=(input)",
                     .before = "__device__ int runs;\n__device__ float seen[32];\n" + before +
                               "extern \"C\" __global__ void count_run(const float* input) {\n"
                               "  seen[threadIdx.x] = input[threadIdx.x];\n"
                               "  if (threadIdx.x == 0) runs = runs + 1;\n}\n"});
}

// Right on all cases, and then wrong where it is measured.
void CheckCaughtWhenMeasured(const v1::Evaluation& evaluation) {
  INFO(Explain(evaluation));
  REQUIRE(evaluation.outcome() == v1::MISMATCH);
  CHECK(evaluation.cases_size() == DoubleTask().cases_size() + 1);
  for (int i = 0; i < DoubleTask().cases_size(); ++i) CHECK(evaluation.cases(i).outcome() == v1::MEASURED);
  CHECK_FALSE(evaluation.has_measurement());
}

TEST_CASE("a kernel that keeps its first result in a global variable is caught") {
  const v1::Evaluation evaluation = EvaluateOnGpu(
      DoubleTask(), WithRunCounter("__device__ float kept[1 << 20];\n",
                                   "if (i < n) { if (runs == 0) kept[i] = 2.0f * input[i]; output[i] = kept[i]; }"));
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::MISMATCH);
}

TEST_CASE("the same kernel without the trick is right, so the run counter is not what was caught") {
  const v1::Evaluation evaluation = EvaluateOnGpu(DoubleTask(), WithRunCounter("", kTwice));
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::MEASURED);
}

TEST_CASE("a kernel that stops working after some launches is caught by the output of a timed launch") {
  CheckCaughtWhenMeasured(
      EvaluateOnGpu(DoubleTask(), WithRunCounter("", "if (i < n && runs < 6) output[i] = 2.0f * input[i];")));
}

TEST_CASE("a kernel that keeps its results while the first inputs stay as they were is caught: data change elsewhere") {
  CheckCaughtWhenMeasured(EvaluateOnGpu(
      DoubleTask(),
      WithRunCounter("__device__ float kept[1 << 20];\n",
                     "bool same = runs > 0; for (int k = 0; k < 32; ++k) same = same && seen[k] == input[k];\n"
                     "if (i < n) { if (!same) kept[i] = 2.0f * input[i]; output[i] = kept[i]; }")));
}

TEST_CASE("a write beside the output is a fault that names the buffer, before and behind it") {
  for (const char* body : {"if (i < n) output[i] = 2.0f * input[i]; if (i == 0) output[n] = 1.0f;",
                           "if (i < n) output[i] = 2.0f * input[i]; if (i == 0) output[-1] = 1.0f;"}) {
    const v1::Evaluation evaluation = EvaluateOnGpu(DoubleTask(), KernelFile({.body = body}));
    INFO(body << "\n" << Explain(evaluation));
    CHECK(evaluation.outcome() == v1::RUNTIME_FAULT);
    CHECK(evaluation.diagnosis().find("output") != std::string::npos);
  }
}

TEST_CASE("a kernel that changes its input is rejected") {
  const v1::Evaluation evaluation = EvaluateOnGpu(
      DoubleTask(),
      KernelFile({.body = "if (i < n) { output[i] = 2.0f * input[i]; const_cast<float*>(input)[i] = 0.0f; }"}));
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::REJECTED);
  CHECK(evaluation.diagnosis().find("input") != std::string::npos);
}

TEST_CASE("a kernel that does nothing is wrong: no earlier result lies in its output") {
  const v1::Evaluation evaluation = EvaluateOnGpu(DoubleTask(), KernelFile({.body = "if (n < 0) output[i] = 1.0f;"}));
  INFO(Explain(evaluation));
  REQUIRE(evaluation.outcome() == v1::MISMATCH);
  CHECK(evaluation.cases(0).mismatches(0).unwritten_count() == 1000);
}

TEST_CASE("a forbidden instruction that stands in the code is rejected") {
  v1::Task task = DoubleTask();
  task.add_forbidden_instructions("bar.sync");
  CHECK(EvaluateOnGpu(task, KernelFile({.body = kTwice})).outcome() == v1::MEASURED);
  const v1::Evaluation evaluation = EvaluateOnGpu(task, KernelFile({.body = std::string("__syncthreads();") + kTwice}));
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::REJECTED);
}

TEST_CASE("a required instruction that is missing is a rejection; one that is there is measured") {
  v1::Task task = DoubleTask();
  task.add_required_instructions("bar.sync");
  const v1::Evaluation missing = EvaluateOnGpu(task, KernelFile({.body = kTwice}));
  INFO(Explain(missing));
  CHECK(missing.outcome() == v1::REJECTED);
  CHECK(EvaluateOnGpu(task, KernelFile({.body = std::string("__syncthreads();") + kTwice})).outcome() == v1::MEASURED);
}

}  // namespace
}  // namespace fsr
