#include "tests/gpu/gpu_fixture.h"

#include <fmt/format.h>

#include <cstdlib>

namespace fsr {
namespace {

Lab& SharedLab() {
  static const std::unique_ptr<Lab> lab = [] {
    const char* device = std::getenv("FSR_TEST_DEVICE");
    auto opened = Lab::Open(device != nullptr ? device : "cuda:0");
    INFO(opened.status().ToString());
    REQUIRE(opened.ok());
    return *std::move(opened);
  }();
  return *lab;
}

}  // namespace

v1::Evaluation EvaluateOnGpu(const v1::Task& task, const std::string& source, double run_seconds) {
  v1::EvaluationSpec spec = SpecOf(task, source, task.baseline_source());
  spec.mutable_limits()->set_run_seconds(run_seconds);
  auto timed = SharedLab().Evaluate(spec);
  INFO(timed.status().ToString());
  REQUIRE(timed.ok());
  return std::move(timed->evaluation);
}

std::string Explain(const v1::Evaluation& evaluation) {
  return fmt::format("{}: {}\n{}", v1::Outcome_Name(evaluation.outcome()), evaluation.diagnosis(),
                     evaluation.compile_log());
}

void CheckGpuWorks() {
  const v1::Evaluation right = EvaluateOnGpu(DoubleTask(), KernelFile({.body = kTwice}));
  INFO("afterwards: " << Explain(right));
  CHECK(right.outcome() == v1::MEASURED);
  CHECK(right.measurement().latency_us() > 0);
  const v1::Evaluation wrong = EvaluateOnGpu(DoubleTask(), KernelFile({.body = kWrong}));
  INFO("afterwards: " << Explain(wrong));
  CHECK(wrong.outcome() == v1::MISMATCH);
}

}  // namespace fsr
