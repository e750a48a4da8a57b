#include "worker/meter/meter.h"

#include <catch2/catch.hpp>

#include "common/status.h"
#include "tests/worker/judge/fake_device.h"

namespace fsr {
namespace {

FakeDevice MakeDevice(double candidate_us, double baseline_us, double incumbent_us = 10) {
  FakeDevice device;
  device.Define("oracle", DoubleAll);
  device.Define("candidate", DoubleAll, candidate_us);
  device.Define("baseline", DoubleAll, baseline_us);
  device.Define("incumbent", DoubleAll, incumbent_us);
  return device;
}

absl::StatusOr<MeterReport> MeasureFake(FakeDevice& device, const v1::Task& task = DoubleTask()) {
  return Measure(
      device, task, FakeKernel("candidate"), FakeKernel("oracle"),
      {{v1::Comparison::BASELINE, FakeKernel("baseline")}, {v1::Comparison::INCUMBENT, FakeKernel("incumbent")}},
      {.seed = 3});
}

TEST_CASE("an estimate says that it is one, what it is of, and how near it is to the floor") {
  FakeDevice device = MakeDevice(32.768, 65.536);
  const auto report = MeasureFake(device);
  REQUIRE(report.ok());
  REQUIRE_FALSE(report->failure);
  REQUIRE(report->measurement);
  const v1::Measurement& measurement = *report->measurement;
  CHECK(measurement.estimated());
  CHECK(measurement.latency_us() == 32.768);
  CHECK(measurement.latency_p25_us() == 32.768);
  CHECK(measurement.noise() == 0);
  CHECK(measurement.sample_count() == 1);
  CHECK(measurement.floor_us() == Approx(0.016384));  // 8 * 2048 bytes at 1e12 B/s
  CHECK(measurement.floor_share() == Approx(0.0005));
  CHECK(measurement.limited_by() == "memory");
  CHECK(measurement.device().kind() == "sim:fake");
  CHECK(measurement.sizes().at("n") == 2048);
  CHECK(report->counters.size() == 1);
  CHECK(report->hints == std::vector<std::string>{"a hint of the device"});
  REQUIRE(report->resources.size() == 1);
  CHECK(report->resources[0].block().x() == 32);
}

TEST_CASE("the candidate is compared with each reference, and the oracle runs after all of them") {
  FakeDevice device = MakeDevice(20, 40, 19);
  const auto report = MeasureFake(device);
  REQUIRE(report.ok());
  REQUIRE(report->comparisons.size() == 2);
  CHECK(report->comparisons[0].against() == v1::Comparison::BASELINE);
  CHECK(report->comparisons[0].ratio() == 2);
  CHECK(report->comparisons[0].ratio_low() == 2);
  CHECK(report->comparisons[0].other_latency_us() == 40);
  CHECK(report->comparisons[0].verdict() == v1::FASTER);
  CHECK(report->comparisons[1].against() == v1::Comparison::INCUMBENT);
  CHECK(report->comparisons[1].verdict() == v1::SLOWER);
  CHECK(device.launched == std::vector<std::string>{"candidate", "baseline", "incumbent", "oracle"});
  FakeDevice same = MakeDevice(20, 20);
  CHECK(MeasureFake(same)->comparisons[0].verdict() == v1::SAME);
}

TEST_CASE("an estimate below the floor is kept and noted") {
  FakeDevice device = MakeDevice(0.01, 10);
  const auto report = MeasureFake(device);
  REQUIRE(report->measurement);
  CHECK_FALSE(report->failure);
  CHECK(report->measurement->floor_share() > 1);
  REQUIRE(report->hints.size() == 2);
  CHECK_THAT(report->hints[1], Catch::Contains("below the floor"));
}

TEST_CASE("a measured run that is wrong fails the candidate") {
  FakeDevice device = MakeDevice(20, 40);
  device.Define("candidate", [](FakeLaunch&) {});
  const auto report = MeasureFake(device);
  REQUIRE(report.ok());
  REQUIRE(report->failure);
  CHECK(report->failure->outcome == v1::MISMATCH);
  CHECK_THAT(report->failure->fault.message(), Catch::Contains("unwritten"));
  CHECK_FALSE(report->measurement);
  CHECK(report->comparisons.empty());
}

TEST_CASE("a measured run that breaks or changes an input fails the candidate, and nothing else is run") {
  FakeDevice device = MakeDevice(20, 40);
  device.Define("candidate", [](FakeLaunch& launch) {
    DoubleAll(launch);
    launch.Buffer<float>("input")[0] = 0;
  });
  const auto report = MeasureFake(device);
  REQUIRE(report->failure);
  CHECK(report->failure->outcome == v1::REJECTED);
  CHECK(device.launched == std::vector<std::string>{"candidate"});
}

TEST_CASE("a reference that is wrong or breaks is ours, by name") {
  FakeDevice wrong = MakeDevice(20, 40);
  wrong.Define("incumbent", [](FakeLaunch&) {});
  auto report = MeasureFake(wrong);
  CHECK(absl::IsInternal(report.status()));
  CHECK_THAT(MessageOf(report.status()), Catch::Contains("incumbent") && Catch::Contains("doubled"));
  FakeDevice broken = MakeDevice(20, 40);
  broken.Define("baseline", [](FakeLaunch& launch) {
    launch.failure.emplace();
    launch.failure->fault.set_message("trap");
  });
  report = MeasureFake(broken);
  CHECK(absl::IsInternal(report.status()));
  CHECK_THAT(MessageOf(report.status()), Catch::Contains("baseline") && Catch::Contains("trap"));
}

TEST_CASE("the data of a measurement are those of no judged run") {
  std::vector<std::vector<float>> inputs;
  FakeDevice device = MakeDevice(20, 40);
  device.Define("candidate", [&](FakeLaunch& launch) {
    const auto input = launch.Buffer<float>("input");
    inputs.emplace_back(input.begin(), input.begin() + 8);
    DoubleAll(launch);
  });
  REQUIRE(Judge(device, DoubleTask(), FakeKernel("candidate"), FakeKernel("oracle"), {.seed = 3}).ok());
  const size_t judged = inputs.size();
  REQUIRE(MeasureFake(device).ok());
  REQUIRE(inputs.size() == judged + 1);
  for (size_t i = 0; i < judged; ++i) CHECK(inputs[i] != inputs.back());
}

TEST_CASE("a device that gives no estimate is ours, and a GPU cannot be measured yet") {
  FakeDevice silent = MakeDevice(0, 40);
  CHECK(absl::IsInternal(MeasureFake(silent).status()));
  FakeDevice gpu = MakeDevice(20, 40);
  gpu.mutable_facts().set_simulated(false);
  CHECK(absl::IsUnimplemented(MeasureFake(gpu).status()));
  CHECK(gpu.launched.empty());
}

}  // namespace
}  // namespace fsr
