#include "worker/judge/judge.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "common/status.h"
#include "tests/worker/judge/fake_device.h"
#include "worker/judge/bench.h"

namespace fsr {
namespace {

// Judges kernel `candidate` of `device` on `task`; kernel "oracle" is the oracle.
absl::StatusOr<Judgement> JudgeFake(FakeDevice& device, const v1::Task& task,
                                    const LoadableKernel& candidate = FakeKernel("candidate"),
                                    const JudgeOptions& options = {.seed = 7}) {
  return Judge(device, task, candidate, FakeKernel("oracle"), options);
}

// `candidate` on the task that doubles its input.
FakeDevice Doubling(FakeDevice::Kernel candidate) {
  FakeDevice device;
  device.Define("oracle", DoubleAll);
  device.Define("candidate", std::move(candidate));
  return device;
}

TEST_CASE("a right kernel is right on every case, the measured one last") {
  FakeDevice device = Doubling(DoubleAll);
  FakeClock clock;
  v1::Task task = DoubleTask();
  const auto judgement = JudgeFake(device, task, FakeKernel("candidate"), {.seed = 7, .clock = &clock});
  REQUIRE(judgement.ok());
  CHECK(judgement->outcome == v1::MEASURED);
  REQUIRE(judgement->cases.size() == 3);
  CHECK(judgement->cases[0].name() == "n=1000");
  CHECK_FALSE(judgement->cases[0].held_out());
  CHECK(judgement->cases[1].held_out());
  CHECK(judgement->cases[2].sizes().at("n") == 2048);
  for (const v1::CaseResult& result : judgement->cases) {
    CHECK(result.outcome() == v1::MEASURED);
    CHECK(result.mismatches_size() == 0);
    CHECK(result.largest_absolute_error() == 0);
  }
}

TEST_CASE("the candidate always runs before the oracle, twice a case, the measured one once on a simulator") {
  FakeDevice device = Doubling(DoubleAll);
  REQUIRE(JudgeFake(device, DoubleTask()).ok());
  const std::vector<std::string> pair{"candidate", "oracle"};
  std::vector<std::string> expected;
  for (int i = 0; i < 5; ++i) expected.insert(expected.end(), pair.begin(), pair.end());
  CHECK(device.launched == expected);

  FakeDevice gpu = Doubling(DoubleAll);
  gpu.mutable_facts().set_simulated(false);
  REQUIRE(JudgeFake(gpu, DoubleTask()).ok());
  CHECK(gpu.launched.size() == 12);
}

TEST_CASE("a simulator is judged on measure_simulated where the task has one") {
  v1::Task task = DoubleTask();
  (*task.mutable_measure_simulated()->mutable_sizes())["n"] = 64;
  FakeDevice device = Doubling(DoubleAll);
  CHECK(JudgeFake(device, task)->cases.back().sizes().at("n") == 64);
  FakeDevice gpu = Doubling(DoubleAll);
  gpu.mutable_facts().set_simulated(false);
  CHECK(JudgeFake(gpu, task)->cases.back().sizes().at("n") == 2048);
}

TEST_CASE("every run has fresh data, the same for the same seed") {
  const auto inputs_of = [](uint64_t seed) {
    std::vector<std::vector<float>> inputs;
    FakeDevice device = Doubling([&](FakeLaunch& launch) {
      const auto input = launch.Buffer<float>("input");
      inputs.emplace_back(input.begin(), input.begin() + 8);
      DoubleAll(launch);
    });
    REQUIRE(JudgeFake(device, DoubleTask(), FakeKernel("candidate"), {.seed = seed}).ok());
    return inputs;
  };
  const auto first = inputs_of(1), again = inputs_of(1), other = inputs_of(2);
  CHECK(first == again);
  for (size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i] != other[i]);
    for (size_t j = 0; j < i; ++j) CHECK(first[i] != first[j]);
  }
}

TEST_CASE("INOUT starts from its data and is compared like an output") {
  v1::Task task = DoubleTask();
  task.mutable_parameters(1)->set_role(v1::Parameter::INOUT);
  FakeDevice device;
  const auto add = [](FakeLaunch& launch) {
    const auto input = launch.Buffer<float>("input"), output = launch.Buffer<float>("output");
    for (size_t i = 0; i < output.size(); ++i) output[i] += input[i];
  };
  device.Define("oracle", add);
  device.Define("candidate", add);
  CHECK(JudgeFake(device, task)->outcome == v1::MEASURED);
  device.Define("candidate", [](FakeLaunch&) {});
  const auto idle = JudgeFake(device, task);
  CHECK(idle->outcome == v1::MISMATCH);
  CHECK_THAT(idle->cases[0].mismatches(0).pattern(), Catch::Contains("its own data before the launch"));
}

TEST_CASE("a case without any output element is right without a launch") {
  v1::Task task = DoubleTask();
  (*task.mutable_cases(0)->mutable_sizes())["n"] = 0;
  LoadableKernel candidate = FakeKernel("candidate");
  candidate.plan.launches[0].grid[0] = *SizeExpression::Parse("ceil_div(n, 256)");
  FakeDevice device = Doubling(DoubleAll);
  const auto judgement = JudgeFake(device, task, candidate);
  REQUIRE(judgement.ok());
  CHECK(judgement->outcome == v1::MEASURED);
  CHECK(judgement->cases.size() == 3);
  CHECK(device.launched.size() == 6);  // of the two other cases
}

TEST_CASE("an empty input, output or scratch buffer beside others is no trouble") {
  v1::Task task = DoubleTask();  // output[0] = 0 for no input
  (*task.mutable_cases(0)->mutable_sizes())["n"] = 0;
  task.mutable_parameters(1)->set_shape(0, std::string("1"));
  v1::Parameter& second = *task.add_parameters();
  second = task.parameters(1);
  second.set_name("second");
  second.set_shape(0, std::string("n"));
  FakeDevice device;
  const auto sum = [](FakeLaunch& launch) {
    const auto input = launch.Buffer<float>("input"), second_output = launch.Buffer<float>("second");
    float total = 0;
    for (const float value : input) total += value;
    launch.Buffer<float>("output")[0] = total;
    std::ranges::copy(input, second_output.begin());
  };
  device.Define("oracle", sum);
  device.Define("candidate", sum);
  const auto judgement = JudgeFake(device, task, FakeKernel("candidate", "nothing", 0));
  REQUIRE(judgement.ok());
  CHECK(judgement->outcome == v1::MEASURED);
  CHECK(device.launched.size() == 10);
}

TEST_CASE("a plan that launches nothing where an output has elements is a launch error") {
  v1::Task task = DoubleTask();
  (*task.mutable_cases(0)->mutable_sizes())["n"] = 0;
  task.mutable_parameters(1)->set_shape(0, "n + 1");
  LoadableKernel candidate = FakeKernel("candidate");
  candidate.plan.launches[0].grid[0] = *SizeExpression::Parse("ceil_div(n, 256)");
  FakeDevice device = Doubling(DoubleAll);
  const auto judgement = JudgeFake(device, task, candidate);
  REQUIRE(judgement.ok());
  CHECK(judgement->outcome == v1::LAUNCH_ERROR);
  CHECK(judgement->cases[0].fault().kind() == "invalid_launch_plan");
}

TEST_CASE("what the device says of a broken kernel becomes the outcome, and judging stops there") {
  FakeDevice device = Doubling([](FakeLaunch& launch) {
    launch.failure.emplace();
    launch.failure->outcome = v1::TIMEOUT;
    launch.failure->fault.set_kind("time_limit");
    launch.failure->fault.set_message("did not end");
  });
  const auto judgement = JudgeFake(device, DoubleTask());
  CHECK(judgement->outcome == v1::TIMEOUT);
  REQUIRE(judgement->cases.size() == 1);
  CHECK(judgement->cases[0].fault().message() == "did not end");
  CHECK(device.launched == std::vector<std::string>{"candidate"});
  CHECK(judgement->executed_instructions.at("fake.run") == 32);
}

TEST_CASE("a kernel that cannot be loaded has the device's outcome") {
  FakeDevice device = Doubling(DoubleAll);
  const auto judgement = JudgeFake(device, DoubleTask(), FakeKernel("missing"));
  CHECK(judgement->outcome == v1::UNSUPPORTED);
  CHECK(judgement->cases[0].fault().message() == "no kernel missing");
}

TEST_CASE("all cases are judged if asked for, but a GPU that broke is left alone") {
  const auto fault = [](FakeLaunch& launch) {
    launch.failure.emplace();
    launch.failure->fault.set_kind("illegal_address");
  };
  const JudgeOptions all{.seed = 7, .stop_at_first_failure = false};
  FakeDevice device = Doubling(fault);
  CHECK(JudgeFake(device, DoubleTask(), FakeKernel("candidate"), all)->cases.size() == 3);
  FakeDevice gpu = Doubling(fault);
  gpu.mutable_facts().set_simulated(false);
  CHECK(JudgeFake(gpu, DoubleTask(), FakeKernel("candidate"), all)->cases.size() == 1);

  FakeDevice wrong = Doubling([](FakeLaunch&) {});
  const auto judgement = JudgeFake(wrong, DoubleTask(), FakeKernel("candidate"), all);
  CHECK(judgement->cases.size() == 3);
  CHECK(judgement->outcome == v1::MISMATCH);
}

TEST_CASE("scratch beyond the device's memory is the kernel's fault, the task's own buffers are not") {
  FakeDevice device = Doubling(DoubleAll);
  device.memory_bytes_max = 100'000;
  const auto greedy = JudgeFake(device, DoubleTask(), FakeKernel("candidate", "partial", 100'000));
  CHECK(greedy->outcome == v1::LAUNCH_ERROR);
  CHECK_THAT(greedy->cases[0].fault().message(), Catch::Contains("partial f32[100000]"));
  CHECK(JudgeFake(device, DoubleTask(), FakeKernel("candidate", "partial", 10'000))->outcome == v1::MEASURED);
  device.memory_bytes_max = 1000;
  CHECK(JudgeFake(device, DoubleTask())->outcome == v1::UNSUPPORTED);
}

TEST_CASE("global variables beyond the device's memory are the kernel's fault") {
  FakeDevice device = Doubling(DoubleAll);
  device.module_bytes["candidate"] = device.memory_bytes_max + 1;
  const auto greedy = JudgeFake(device, DoubleTask());
  REQUIRE(greedy.ok());
  CHECK(greedy->outcome == v1::LAUNCH_ERROR);
  CHECK_THAT(greedy->cases[0].fault().message(), Catch::Contains("global variables"));
  device.module_bytes["candidate"] = 1000;
  CHECK(JudgeFake(device, DoubleTask())->outcome == v1::MEASURED);
}

TEST_CASE("the oracle's failure is ours, and the message names task and case") {
  const auto message = [](FakeDevice::Kernel oracle) {
    FakeDevice device = Doubling(DoubleAll);
    device.Define("oracle", std::move(oracle));
    const auto judgement = JudgeFake(device, DoubleTask());
    REQUIRE(absl::IsInternal(judgement.status()));
    return MessageOf(judgement.status());
  };
  const std::string fault = message([](FakeLaunch& launch) {
    launch.failure.emplace();
    launch.failure->fault.set_message("illegal read");
  });
  CHECK_THAT(fault, Catch::Contains("doubled") && Catch::Contains("n=1000") && Catch::Contains("illegal read"));
  CHECK_THAT(message([](FakeLaunch& launch) {
               DoubleAll(launch);
               launch.Buffer<float>("input")[3] = 0;
             }),
             Catch::Contains("changes its input input f32[1000] at index 3"));
  CHECK_THAT(message([](FakeLaunch& launch) {
               const auto input = launch.Buffer<float>("input"), output = launch.Buffer<float>("output");
               for (size_t i = 1; i < output.size(); ++i) output[i] = 2 * input[i];
             }),
             Catch::Contains("1 of 1000 elements of output f32[1000] unwritten"));
}

TEST_CASE("data that cannot be drawn are the task's fault") {
  v1::Task task = DoubleTask();
  task.mutable_parameters(0)->mutable_data()->set_low("5");
  FakeDevice device = Doubling(DoubleAll);
  const auto judgement = JudgeFake(device, task);
  CHECK(absl::IsInvalidArgument(judgement.status()));
  CHECK_THAT(MessageOf(judgement.status()), Catch::Contains("doubled") && Catch::Contains("parameter input"));
}

TEST_CASE("the oracle is given more time than a candidate") {
  FakeDevice device = Doubling(DoubleAll);
  REQUIRE(JudgeFake(device, DoubleTask(), FakeKernel("candidate"), {.run_limit = absl::Seconds(1)}).ok());
  CHECK(device.longest_limit == kOracleRunLimitMin);
}

TEST_CASE("errors within the tolerance are right and the largest is reported") {
  v1::Task task = DoubleTask();
  task.mutable_tolerance()->set_absolute(0.125);
  FakeDevice device = Doubling([](FakeLaunch& launch) {
    DoubleAll(launch);
    launch.Buffer<float>("output")[5] = 2 * launch.Buffer<float>("input")[5] + 0.0625f;
  });
  const auto judgement = JudgeFake(device, task);
  CHECK(judgement->outcome == v1::MEASURED);
  CHECK(judgement->cases[0].largest_absolute_error() == Approx(0.0625).epsilon(1e-4));
}

}  // namespace
}  // namespace fsr
