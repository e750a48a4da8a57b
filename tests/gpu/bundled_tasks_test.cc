// Every kernel that comes with a bundled task, through judge and meter, on the sizes that the simulator measures.
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/variants.h"

namespace fsr {
namespace {

std::vector<v1::Task> Tasks() {
  auto tasks = BundledTasks();
  INFO(tasks.status().ToString());
  REQUIRE(tasks.ok());
  return *std::move(tasks);
}

void CheckMeasured(const v1::Task& task, const char* which, const std::string& source) {
  const v1::Task measured = WithSimulatedSizes(task);
  const v1::Evaluation evaluation = EvaluateOnGpu(measured, source);
  INFO(task.name() << ", " << which << ": " << Explain(evaluation));
  REQUIRE(evaluation.outcome() == v1::MEASURED);
  CHECK(evaluation.cases_size() == task.cases_size() + 1);
  const v1::Measurement& measurement = evaluation.measurement();
  CHECK_FALSE(measurement.estimated());
  CHECK(measurement.latency_us() > 0);
  CHECK(measurement.latency_p25_us() <= measurement.latency_us());
  CHECK(measurement.latency_us() <= measurement.latency_p75_us());
  CHECK(measurement.hot_latency_us() > 0);
  CHECK(measurement.sample_count() >= 15);
  CHECK(measurement.device().name() != "");
  REQUIRE(evaluation.comparisons_size() == 1);
  CHECK(evaluation.comparisons(0).ratio() > 0);
}

TEST_CASE("every bundled task's baseline is right and measured") {
  for (const v1::Task& task : Tasks()) CheckMeasured(task, "baseline", task.baseline_source());
}

TEST_CASE("every bundled task's oracle is right and measured") {
  for (const v1::Task& task : Tasks()) CheckMeasured(task, "oracle", task.oracle_source());
}

TEST_CASE("every bundled task's tunable kernel is right and measured with its defaults") {
  for (const v1::Task& task : Tasks()) {
    const auto variants = TunableVariants(task, 1, 1);
    INFO(variants.status().ToString());
    REQUIRE(variants.ok());
    CheckMeasured(task, "tunable", variants->front().source);
  }
}

}  // namespace
}  // namespace fsr
