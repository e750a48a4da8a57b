// What the device refuses before or without running anything.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/worker/sim/kernel_harness.h"

namespace fsr::sim {
namespace {

using Catch::Contains;

constexpr char kPlain[] =
    "extern \"C\" __global__ void k(float* data, int n) { if (threadIdx.x < n) data[threadIdx.x] = n; }";

KernelHarness Plain() {
  KernelHarness kernel = KernelHarness::OfCuda(kPlain);
  kernel.Buffer("output", std::vector<float>(1024)).Value<int32_t>(4);
  return kernel;
}

void CheckRefused(const LaunchReport& report, v1::Outcome outcome, const std::string& text) {
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->outcome == outcome);
  CHECK_THAT(report.failure->fault.message(), Contains(text));
}

TEST_CASE("a block may have 1024 threads and not one more") {
  KernelHarness kernel = Plain();
  CHECK(FailureText(kernel.Launch("k", {1, 1, 1}, {1024, 1, 1})) == "");
  CheckRefused(kernel.Launch("k", {1, 1, 1}, {1025, 1, 1}), v1::LAUNCH_ERROR, "1025 threads; the device allows 1024");
  CheckRefused(kernel.Launch("k", {1, 1, 1}, {1, 1, 65}), v1::LAUNCH_ERROR, "(1,1,65)");
  CheckRefused(kernel.Launch("k", {1, 65536, 1}, {1, 1, 1}), v1::LAUNCH_ERROR, "the grid (1,65536,1) is larger");
}

TEST_CASE("shared memory is limited by the device") {
  KernelHarness kernel = Plain();
  CHECK(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1}, 227 * 1024)) == "");
  CheckRefused(kernel.Launch("k", {1, 1, 1}, {32, 1, 1}, 227 * 1024 + 1), v1::LAUNCH_ERROR, "shared memory");
}

TEST_CASE("the arguments must be those of the kernel") {
  KernelHarness fewer = KernelHarness::OfCuda(kPlain);
  fewer.Buffer("output", std::vector<float>(4));
  CheckRefused(fewer.Launch("k", {1, 1, 1}, {32, 1, 1}), v1::LAUNCH_ERROR, "passes 1 arguments, and the kernel has 2");
  KernelHarness wider = KernelHarness::OfCuda(kPlain);
  wider.Buffer("output", std::vector<float>(4)).Value<int64_t>(4);
  CheckRefused(wider.Launch("k", {1, 1, 1}, {32, 1, 1}), v1::LAUNCH_ERROR,
               "argument 2 has 8 bytes, and the kernel's parameter has 4");
}

TEST_CASE("a kernel that is not there is a launch error that lists those that are") {
  KernelHarness kernel = Plain();
  CheckRefused(kernel.Launch("other", {1, 1, 1}, {32, 1, 1}), v1::LAUNCH_ERROR,
               "there is no kernel other; the file has: k");
}

TEST_CASE("a cooperative grid must fit the device") {
  KernelHarness kernel = Plain();
  kernel.cooperative = true;
  CHECK(FailureText(kernel.Launch("k", {132, 1, 1}, {1024, 1, 1})) == "");
  CheckRefused(kernel.Launch("k", {132 * 2 + 1, 1, 1}, {1024, 1, 1}), v1::LAUNCH_ERROR,
               "a cooperative launch of 265 blocks");
}

TEST_CASE("launch bounds are kept") {
  KernelHarness kernel = KernelHarness::OfCuda(
      "extern \"C\" __global__ void __launch_bounds__(128) k(float* data) { data[threadIdx.x] = 1; }");
  kernel.Buffer("output", std::vector<float>(1024));
  CHECK(FailureText(kernel.Launch("k", {1, 1, 1}, {128, 1, 1})) == "");
  CheckRefused(kernel.Launch("k", {1, 1, 1}, {160, 1, 1}), v1::LAUNCH_ERROR, "__launch_bounds__ allow 128");
}

TEST_CASE("an instruction that is not simulated only matters to the kernel that reaches it") {
  KernelHarness kernel = KernelHarness::OfCuda(
      "extern \"C\" __global__ void k(float* data) { data[threadIdx.x] = 1; }\n"
      "extern \"C\" __global__ void tensor(float* data) {\n"
      "  asm volatile(\"wgmma.fence.sync.aligned;\");\n"
      "  data[threadIdx.x] = 1;\n"
      "}\n");
  kernel.Buffer("output", std::vector<float>(32));
  CHECK(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
  const LaunchReport report = kernel.Launch("tensor", {1, 1, 1}, {32, 1, 1});
  CheckRefused(report, v1::UNSUPPORTED, "wgmma.fence.sync.aligned is not simulated at line 3");
  CHECK(report.failure->fault.source_line() == 3);
  CHECK(kernel.Read<float>("output") == std::vector<float>(32, 1.0f));
}

TEST_CASE("text that is no PTX is not loaded") {
  KernelHarness kernel = KernelHarness::OfPtx("this is not PTX");
  const LaunchReport report = kernel.Launch("k", {1, 1, 1}, {32, 1, 1});
  CheckRefused(report, v1::UNSUPPORTED, "cannot be read");
}

TEST_CASE("a device has a known profile, and no more memory than it says") {
  const auto unknown = OpenSimulatedDevice("abacus");
  REQUIRE(!unknown.ok());
  CHECK_THAT(std::string(unknown.status().message()), Contains("abacus") && Contains("h200"));
  auto device = OpenSimulatedDevice("h200");
  REQUIRE(device.ok());
  const auto too_large = (*device)->Allocate("huge", size_t{1} << 50);
  CHECK(absl::IsResourceExhausted(too_large.status()));
}

}  // namespace
}  // namespace fsr::sim
