// Clocks, printf, indexed branches, and devices by name.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/status.h"
#include "tests/worker/sim/kernel_harness.h"
#include "tests/worker/sim/nvrtc.h"
#include "worker/device/device.h"

namespace fsr::sim {
namespace {

using Catch::Contains;

TEST_CASE("clocks go on, and sleeping moves them") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void k(long long* out) {
      long long begin = clock64();
      __nanosleep(5000);
      long long slept = clock64();
      while (clock64() - slept < 3000) {}
      out[threadIdx.x * 2] = slept - begin;
      out[threadIdx.x * 2 + 1] = clock64() - slept;
    })");
  kernel.Buffer("out", std::vector<int64_t>(64));
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
  const auto out = kernel.Read<int64_t>("out");
  for (size_t lane = 0; lane < 32; ++lane) {
    CHECK(out[lane * 2] >= 5000);
    CHECK(out[lane * 2 + 1] >= 3000);
  }
}

TEST_CASE("printf is accepted and changes nothing") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void k(int* out) {
      if (threadIdx.x % 5 == 0) printf("thread %d of %s\n", threadIdx.x, "many");
      out[threadIdx.x] = threadIdx.x + 1;
    })");
  kernel.Buffer("out", std::vector<int32_t>(32));
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
  const auto out = kernel.Read<int32_t>("out");
  for (int lane = 0; lane < 32; ++lane) CHECK(out[static_cast<size_t>(lane)] == lane + 1);
}

constexpr char kIndexedBranch[] = R"(
  .version 8.0
  .target sm_90
  .address_size 64
  .visible .entry k(.param .u64 out, .param .u32 modulus) {
    .reg .b32 %r<5>; .reg .b64 %rd<4>;
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r4, [modulus];
    rem.u32 %r2, %r1, %r4;
    TABLE: .branchtargets ZERO, ONE, TWO;
    brx.idx %r2, TABLE;
  TWO:
    mov.u32 %r3, 22;
    bra DONE;
  ZERO:
    mov.u32 %r3, 7;
    bra DONE;
  ONE:
    mov.u32 %r3, 11;
  DONE:
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r3;
    ret;
  })";

TEST_CASE("an indexed branch takes each lane to its target, and no further than the table") {
  KernelHarness kernel = KernelHarness::OfPtx(kIndexedBranch);
  kernel.Buffer("out", std::vector<int32_t>(32)).Value<uint32_t>(3);
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
  const auto out = kernel.Read<int32_t>("out");
  const int targets[] = {7, 11, 22};
  for (size_t lane = 0; lane < 32; ++lane) CHECK(out[lane] == targets[lane % 3]);

  KernelHarness beyond = KernelHarness::OfPtx(kIndexedBranch);
  beyond.Buffer("out", std::vector<int32_t>(32)).Value<uint32_t>(4);
  const LaunchReport report = beyond.Launch("k", {1, 1, 1}, {32, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "invalid_operand");
  CHECK(report.failure->fault.thread().x() == 3);
}

TEST_CASE("a plan's fills come before its launches, and launches see what earlier ones wrote") {
  const NvrtcResult compiled = CompileWithNvrtc(
      "extern \"C\" __global__ void twice(int* data) { data[threadIdx.x] = data[threadIdx.x] * 2 + 1; }", "sm_90a");
  REQUIRE(compiled.ok);
  auto device = OpenDevice("sim:h200");
  REQUIRE(device.ok());
  CompiledKernel kernel;
  kernel.ptx = compiled.ptx;
  auto loaded = (*device)->Load(kernel);
  REQUIRE(loaded.ok());
  REQUIRE(loaded->module != nullptr);
  auto buffer = (*device)->Allocate("data", 128);
  REQUIRE(buffer.ok());
  ResolvedPlan plan;
  plan.buffers.resize(1);
  plan.fills.push_back({0, 1});
  ResolvedLaunch launch;
  launch.kernel = "twice";
  launch.block = {32, 1, 1};
  launch.arguments.resize(1);
  launch.arguments[0].kind = ResolvedArgument::Kind::kBuffer;
  plan.launches = {launch, launch};
  DeviceBuffer* const buffers[] = {buffer->get()};
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto report = (*device)->Run(*loaded->module, plan, buffers, {});
    REQUIRE(report.ok());
    CHECK(FailureText(*report) == "");
    std::vector<int32_t> data(32);
    REQUIRE((*buffer)->Read(std::as_writable_bytes(std::span(data))).ok());
    CHECK(data == std::vector<int32_t>(32, (0x01010101 * 2 + 1) * 2 + 1));
  }
}

TEST_CASE("devices are opened by name, and a wrong name gets the right ones in answer") {
  const auto facts = ReadDeviceFacts("sim:h200");
  REQUIRE(facts.ok());
  CHECK(facts->simulated());
  CHECK(facts->kind() == "sim:h200");
  for (const char* name : {"sim:none", "cuda:", "cuda:x", "cuda:-1", "", "h200"}) {
    CAPTURE(name);
    const auto device = OpenDevice(name);
    CHECK(absl::IsInvalidArgument(device.status()));
    CHECK_THAT(MessageOf(device.status()), Contains("h200"));
    CHECK(absl::IsInvalidArgument(ReadDeviceFacts(name).status()));
  }
}

}  // namespace
}  // namespace fsr::sim
