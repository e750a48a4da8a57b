// Tricks that were reported in public, each beside an honest kernel that does nearly the same and must pass.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/worker/judge/fake_device.h"
#include "worker/judge/judge.h"

namespace fsr {
namespace {

// The judgement of `candidate` on `task`, whose oracle is `oracle`. The device must not report trouble.
Judgement JudgeTrick(const v1::Task& task, FakeDevice::Kernel candidate, FakeDevice::Kernel oracle = DoubleAll,
                     const LoadableKernel& kernel = FakeKernel("candidate")) {
  FakeDevice device;
  device.Define("oracle", std::move(oracle));
  device.Define("candidate", std::move(candidate));
  const auto judgement = Judge(device, task, kernel, FakeKernel("oracle"), {.seed = 99});
  REQUIRE(judgement.ok());
  return *judgement;
}

std::string PatternOf(const Judgement& judgement) {
  REQUIRE(judgement.outcome == v1::MISMATCH);
  return judgement.cases.back().mismatches(0).pattern();
}

// Doubles elements [0, count) only.
FakeDevice::Kernel DoubleFirst(const std::function<size_t(size_t)>& count) {
  return [count](FakeLaunch& launch) {
    const auto input = launch.Buffer<float>("input"), output = launch.Buffer<float>("output");
    for (size_t i = 0; i < count(output.size()); ++i) output[i] = 2 * input[i];
  };
}

TEST_CASE("a kernel that does nothing, or half of the work, or all but the last element, is caught") {
  CHECK(PatternOf(JudgeTrick(DoubleTask(), [](FakeLaunch&) {})) == "every element; all of them unwritten");
  CHECK(PatternOf(JudgeTrick(DoubleTask(), DoubleFirst([](size_t n) { return n / 2; }))) ==
        "only the last 500 of 1000 elements; all of them unwritten");
  CHECK(PatternOf(JudgeTrick(DoubleTask(), DoubleFirst([](size_t n) { return n - 1; }))) ==
        "a single element, at [999]; unwritten");
  CHECK(PatternOf(JudgeTrick(DoubleTask(), DoubleFirst([](size_t n) { return n / 256 * 256; }))) ==
        "only the last 232 of 1000 elements, beyond the last multiple of 256 (a block's edge); all of them unwritten");
  CHECK(JudgeTrick(DoubleTask(), DoubleFirst([](size_t n) { return n; })).outcome == v1::MEASURED);
}

TEST_CASE("a kernel that writes zeros, copies its input, or writes NaN is caught") {
  const auto fill = [](float value) {
    return [value](FakeLaunch& launch) { std::ranges::fill(launch.Buffer<float>("output"), value); };
  };
  CHECK(PatternOf(JudgeTrick(DoubleTask(), fill(0))) == "every element; all of them zero");
  CHECK(PatternOf(JudgeTrick(DoubleTask(), fill(std::numeric_limits<float>::quiet_NaN()))) ==
        "every element; all of them NaN");
  const auto copy = [](FakeLaunch& launch) {
    std::ranges::copy(launch.Buffer<float>("input"), launch.Buffer<float>("output").begin());
  };
  CHECK(PatternOf(JudgeTrick(DoubleTask(), copy)) == "every element; each holds the same element of the input input");
  CHECK(JudgeTrick(DoubleTask(), copy, copy).outcome == v1::MEASURED);  // where a copy is what was asked for
}

TEST_CASE("infinity and NaN are no wildcards, and right where the oracle has them") {
  v1::Task task = DoubleTask();
  task.mutable_tolerance()->set_relative(1e-3);
  // 1 / x with x = 0 at element 0, and the square root of a negative number at element 1.
  const auto oracle = [](FakeLaunch& launch) {
    DoubleAll(launch);
    launch.Buffer<float>("output")[0] = std::numeric_limits<float>::infinity();
    launch.Buffer<float>("output")[1] = std::numeric_limits<float>::quiet_NaN();
  };
  const auto replacing = [&](size_t index, float value) {
    return [=](FakeLaunch& launch) {
      oracle(launch);
      launch.Buffer<float>("output")[index] = value;
    };
  };
  CHECK(JudgeTrick(task, oracle, oracle).outcome == v1::MEASURED);
  CHECK(JudgeTrick(task, replacing(0, 5), oracle).outcome == v1::MISMATCH);
  CHECK(JudgeTrick(task, replacing(0, -std::numeric_limits<float>::infinity()), oracle).outcome == v1::MISMATCH);
  CHECK(JudgeTrick(task, replacing(1, 5), oracle).outcome == v1::MISMATCH);
  CHECK(JudgeTrick(task, replacing(2, std::numeric_limits<float>::infinity()), oracle).outcome == v1::MISMATCH);
  CHECK(JudgeTrick(task, replacing(2, std::numeric_limits<float>::quiet_NaN()), oracle).outcome == v1::MISMATCH);
}

TEST_CASE("an element that is never written is caught even where the oracle has NaN") {
  const auto oracle = [](FakeLaunch& launch) {
    DoubleAll(launch);
    launch.Buffer<float>("output")[1] = std::numeric_limits<float>::quiet_NaN();
  };
  const Judgement judgement = JudgeTrick(
      DoubleTask(),
      [&](FakeLaunch& launch) {
        const float before = launch.Buffer<float>("output")[1];
        oracle(launch);
        launch.Buffer<float>("output")[1] = before;
      },
      oracle);
  CHECK_THAT(PatternOf(judgement), Catch::StartsWith("right on the first run"));
}

TEST_CASE("a kernel that takes the larger of the result and what was there is caught") {
  const auto with = [](float (*choose)(float, float)) {
    return [choose](FakeLaunch& launch) {
      const auto input = launch.Buffer<float>("input"), output = launch.Buffer<float>("output");
      for (size_t i = 0; i < output.size(); ++i) output[i] = choose(output[i], 2 * input[i]);
    };
  };
  CHECK(JudgeTrick(DoubleTask(), with([](float a, float b) { return std::fmax(a, b); })).outcome == v1::MISMATCH);
  CHECK(JudgeTrick(DoubleTask(), with([](float a, float b) { return std::fmin(a, b); })).outcome == v1::MISMATCH);
  CHECK(JudgeTrick(DoubleTask(), with([](float, float b) { return b; })).outcome == v1::MEASURED);
}

TEST_CASE("a kernel that changes an input is rejected, even where it also gets the result right") {
  const auto changing = [](float factor) {
    return [factor](FakeLaunch& launch) {
      DoubleAll(launch);
      launch.Buffer<float>("input")[17] *= factor;
    };
  };
  const Judgement judgement = JudgeTrick(DoubleTask(), changing(0));
  CHECK(judgement.outcome == v1::REJECTED);
  CHECK(judgement.cases[0].fault().kind() == "input_changed");
  CHECK_THAT(judgement.cases[0].fault().message(), Catch::Contains("input f32[1000] at index 17"));
  CHECK(judgement.cases[0].fault().parameter_offset_bytes() == 68);
  CHECK(JudgeTrick(DoubleTask(), changing(1)).outcome == v1::MEASURED);
}

TEST_CASE("zeroing the input so that the oracle computes zeros does not help") {
  const Judgement judgement = JudgeTrick(DoubleTask(), [](FakeLaunch& launch) {
    std::ranges::fill(launch.Buffer<float>("input"), 0.0f);
    std::ranges::fill(launch.Buffer<float>("output"), 0.0f);
  });
  CHECK(judgement.outcome == v1::REJECTED);
}

TEST_CASE("writing next to a buffer is a fault that names the buffer, scratch too") {
  const auto beyond = [](const char* buffer, ptrdiff_t offset) {
    return [=](FakeLaunch& launch) {
      DoubleAll(launch);
      const auto elements = launch.Buffer<float>(buffer);
      elements.data()[offset < 0 ? offset : static_cast<ptrdiff_t>(elements.size()) - 1 + offset] = 1;
    };
  };
  const LoadableKernel kernel = FakeKernel("candidate", "partial", 64);
  for (const char* buffer : {"input", "output", "partial"}) {
    for (const ptrdiff_t offset : {-1, 1, 7}) {
      const Judgement judgement = JudgeTrick(DoubleTask(), beyond(buffer, offset), DoubleAll, kernel);
      CHECK(judgement.outcome == v1::RUNTIME_FAULT);
      CHECK(judgement.cases[0].fault().kind() == "guard_overwritten");
      CHECK(judgement.cases[0].fault().parameter() == buffer);
    }
  }
  CHECK(JudgeTrick(DoubleTask(), beyond("partial", 0), DoubleAll, kernel).outcome == v1::MEASURED);
}

TEST_CASE("a kernel that keeps its first result in a global variable is caught") {
  const Judgement judgement = JudgeTrick(DoubleTask(), [](FakeLaunch& launch) {
    std::vector<double>& kept = launch.globals["kept"];
    const auto output = launch.Buffer<float>("output");
    if (kept.empty()) {
      DoubleAll(launch);
      kept.assign(output.begin(), output.end());
    }
    std::ranges::transform(kept, output.begin(), [](double value) { return static_cast<float>(value); });
  });
  CHECK_THAT(PatternOf(judgement), Catch::StartsWith("right on the first run, wrong on run 2") &&
                                       Catch::EndsWith("each holds the same element of the result of the run before"));
  // The honest twin keeps an array, too, but computes it every time.
  CHECK(JudgeTrick(DoubleTask(), [](FakeLaunch& launch) {
          DoubleAll(launch);
          const auto output = launch.Buffer<float>("output");
          launch.globals["kept"].assign(output.begin(), output.end());
        }).outcome == v1::MEASURED);
}

TEST_CASE("a kernel that works only on its first launch is caught") {
  const Judgement judgement = JudgeTrick(DoubleTask(), [](FakeLaunch& launch) {
    std::vector<double>& count = launch.globals["count"];
    if (count.empty()) DoubleAll(launch);
    count.push_back(1);
  });
  CHECK_THAT(PatternOf(judgement), Catch::StartsWith("right on the first run") && Catch::EndsWith("unwritten"));
}

TEST_CASE("global variables are fresh in every case, so that an honest counter starts at zero") {
  // Needs the counter to be 0 or 1: a kernel that resets it itself after two launches would be as right.
  CHECK(JudgeTrick(DoubleTask(), [](FakeLaunch& launch) {
          launch.globals["count"].push_back(1);
          if (launch.globals["count"].size() <= 2) DoubleAll(launch);
        }).outcome == v1::MEASURED);
}

TEST_CASE("scratch that is used without being written first is caught") {
  const LoadableKernel kernel = FakeKernel("candidate", "sum", 1);
  const auto summing = [](bool clear) {
    return [clear](FakeLaunch& launch) {
      const auto sum = launch.Buffer<float>("sum");
      if (clear) sum[0] = 0;
      DoubleAll(launch);
      launch.Buffer<float>("output")[0] += sum[0];
    };
  };
  CHECK(JudgeTrick(DoubleTask(), summing(false), DoubleAll, kernel).outcome == v1::MISMATCH);
  CHECK(JudgeTrick(DoubleTask(), summing(true), DoubleAll, kernel).outcome == v1::MEASURED);
  LoadableKernel filling = kernel;
  filling.plan.fills.push_back({"sum", 0, 1});
  CHECK(JudgeTrick(DoubleTask(), summing(false), DoubleAll, filling).outcome == v1::MEASURED);
}

TEST_CASE("the last column left out of a ragged matrix is caught and named") {
  v1::Task task = DoubleTask();
  for (int i = 0; i < 2; ++i) task.mutable_parameters(i)->add_shape("65");
  const auto columns = [](size_t count) {
    return [count](FakeLaunch& launch) {
      const auto input = launch.Buffer<float>("input"), output = launch.Buffer<float>("output");
      for (size_t i = 0; i < output.size(); ++i) {
        if (i % 65 < count) output[i] = 2 * input[i];
      }
    };
  };
  CHECK(PatternOf(JudgeTrick(task, columns(64))) ==
        "only the last of 65 columns, beyond the last multiple of 64 (a block's edge); all of them unwritten");
  CHECK(JudgeTrick(task, columns(65)).outcome == v1::MEASURED);
}

TEST_CASE("a kernel that is right for the shown sizes only is caught by the held-out case") {
  const Judgement judgement = JudgeTrick(DoubleTask(), [](FakeLaunch& launch) {
    if (launch.Extent("output", 0) != 33) DoubleAll(launch);
  });
  CHECK(judgement.outcome == v1::MISMATCH);
  REQUIRE(judgement.cases.size() == 2);
  CHECK(judgement.cases[1].held_out());
}

// True if `values` lie somewhere in memory that was ever handed out.
bool LiesInMemory(const FakeDevice& device, const std::vector<float>& values) {
  const auto pattern = std::as_bytes(std::span(values));
  return std::ranges::any_of(device.memory, [&](const auto& block) {
    return std::search(block->begin(), block->end(), pattern.begin(), pattern.end()) != block->end();
  });
}

TEST_CASE("a kernel that searches all memory never finds a result of the oracle") {
  // The results of the run before would be the oracle's last word; they equal what the candidate computed then.
  std::vector<float> before;
  int found = 0, searched = 0;
  const auto spy = [&](FakeLaunch& launch) {
    if (!before.empty()) {
      ++searched;
      found += LiesInMemory(launch.device, before) ? 1 : 0;
    }
    DoubleAll(launch);
    const auto output = launch.Buffer<float>("output");
    before.assign(output.begin(), output.begin() + 16);
    // The spy sees what it has just written: the search itself works.
    REQUIRE(LiesInMemory(launch.device, before));
  };
  FakeDevice device;
  device.Define("candidate", spy);
  device.Define("oracle", [](FakeLaunch& launch) {  // keeps a copy of its result in scratch, as a careless one might
    DoubleAll(launch);
    const auto output = launch.Buffer<float>("output"), copy = launch.Buffer<float>("copy");
    std::copy_n(output.begin(), copy.size(), copy.begin());
  });
  const auto judgement =
      Judge(device, DoubleTask(), FakeKernel("candidate"), FakeKernel("oracle", "copy", 33), {.seed = 5});
  REQUIRE(judgement.ok());
  CHECK(judgement->outcome == v1::MEASURED);
  CHECK(searched == 4);
  CHECK(found == 0);
}

}  // namespace
}  // namespace fsr
