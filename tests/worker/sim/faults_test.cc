// Every way a kernel can break, and what is said about it.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/worker/sim/kernel_harness.h"

namespace fsr::sim {
namespace {

using Catch::Contains;

const std::vector<float> kThousand(1024, 1.0f);

// Runs kernel k(float* data) of `body` with a buffer of 1024 floats called "output".
LaunchReport RunOn(const std::string& body, Extents grid, Extents block, double seconds = 10) {
  KernelHarness kernel = KernelHarness::OfCuda(body);
  kernel.options.time_limit = absl::Seconds(seconds);
  kernel.Buffer("output", kThousand);
  return kernel.Launch("k", grid, block);
}

TEST_CASE("a write behind a buffer names the buffer, the distance, the thread and the line") {
  const LaunchReport report = RunOn(
      "extern \"C\" __global__ void k(float* data) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  data[i] = 1.0f;\n"
      "}\n",
      {5, 1, 1}, {256, 1, 1});
  REQUIRE(report.failure.has_value());
  const v1::Fault& fault = report.failure->fault;
  CHECK(report.failure->outcome == v1::RUNTIME_FAULT);
  CHECK(fault.kind() == "out_of_bounds_write");
  CHECK(fault.kernel() == "k");
  CHECK(fault.source_line() == 3);
  CHECK(fault.block().x() == 4);
  CHECK(fault.thread().x() == 0);
  CHECK(fault.parameter() == "output");
  CHECK(fault.parameter_offset_bytes() == 4096);
  CHECK_THAT(
      fault.message(),
      Contains("write of 4 bytes at output + 4096, 0 bytes past its end (4096 bytes), by thread (0,0,0) of block "
               "(4,0,0) at line 3"));
}

TEST_CASE("a read before a buffer says how far before") {
  const LaunchReport report =
      RunOn("extern \"C\" __global__ void k(float* data) { data[threadIdx.x] = data[(int)threadIdx.x - 1]; }",
            {1, 1, 1}, {32, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "out_of_bounds_read");
  CHECK_THAT(report.failure->fault.message(), Contains("output - 4, 4 bytes before its start"));
}

TEST_CASE("an index that overflows is still attributed to its buffer") {
  const LaunchReport report = RunOn(
      "extern \"C\" __global__ void k(float* data) { data[2000000000 + threadIdx.x] = 1; }", {1, 1, 1}, {32, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.parameter() == "output");
  CHECK(report.failure->fault.parameter_offset_bytes() == 8000000000);
}

TEST_CASE("a null pointer is called one") {
  KernelHarness kernel =
      KernelHarness::OfCuda("extern \"C\" __global__ void k(float** pointers) { pointers[0][threadIdx.x + 1] = 1; }");
  kernel.Buffer("pointers", std::vector<uint64_t>(1, 0));
  const LaunchReport report = kernel.Launch("k", {1, 1, 1}, {32, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "null_pointer");
  CHECK(report.failure->fault.address() == 4);
}

TEST_CASE("shared memory ends where the launch says") {
  KernelHarness kernel = KernelHarness::OfCuda(
      "extern \"C\" __global__ void k(float* data) {\n"
      "  extern __shared__ float tile[];\n"
      "  tile[threadIdx.x] = data[threadIdx.x];\n"
      "  __syncthreads();\n"
      "  data[threadIdx.x] = tile[63 - threadIdx.x];\n"
      "}\n");
  kernel.Buffer("output", kThousand);
  CHECK(FailureText(kernel.Launch("k", {1, 1, 1}, {64, 1, 1}, 256)) == "");
  const LaunchReport report = kernel.Launch("k", {1, 1, 1}, {64, 1, 1}, 252);
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "out_of_bounds_write");
  CHECK(report.failure->fault.source_line() == 3);
  CHECK(report.failure->fault.thread().x() == 63);
  CHECK_THAT(report.failure->fault.message(), Contains("shared memory + 252, 0 bytes past its end (252 bytes)"));
}

TEST_CASE("a local array has bounds too") {
  const LaunchReport report = RunOn(
      "extern \"C\" __global__ void k(float* data) {\n"
      "  volatile float own[4] = {1, 2, 3, 4};\n"
      "  data[threadIdx.x] = own[threadIdx.x * 1000];\n"
      "}\n",
      {1, 1, 1}, {32, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "out_of_bounds_read");
  CHECK_THAT(report.failure->fault.message(), Contains("local memory + 4000"));
}

TEST_CASE("a vector access must be aligned to its width") {
  const LaunchReport report = RunOn(
      "extern \"C\" __global__ void k(float* data) { *(float4*)(data + 1 + 4 * threadIdx.x) = make_float4(1, 2, 3, 4); "
      "}",
      {1, 1, 1}, {32, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "misaligned_access");
  CHECK_THAT(report.failure->fault.message(), Contains("write of 16 bytes at output + 4, which is no multiple of 16"));
}

TEST_CASE("constant memory is not written") {
  const LaunchReport report = RunOn(
      "__constant__ float table[4];\n"
      "extern \"C\" __global__ void k(float* data) {\n"
      "  float* p = (float*)table;\n"
      "  asm volatile(\"\" : \"+l\"(p));\n"
      "  p[threadIdx.x & 3] = data[0];\n"
      "}\n",
      {1, 1, 1}, {32, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "write_to_constant");
}

TEST_CASE("a trap and a failed assertion are faults with their line") {
  const LaunchReport trap = RunOn(
      "extern \"C\" __global__ void k(float* data) {\n"
      "  if (data[threadIdx.x] > 0 && threadIdx.x == 7)\n"
      "    __trap();\n"
      "}\n",
      {1, 1, 1}, {32, 1, 1});
  REQUIRE(trap.failure.has_value());
  CHECK(trap.failure->fault.kind() == "trap");
  CHECK(trap.failure->fault.thread().x() == 7);
  const LaunchReport assertion = RunOn(
      "extern \"C\" __global__ void k(float* data) {\n"
      "  assert(data[threadIdx.x] < 0.5f);\n"
      "}\n",
      {1, 1, 1}, {32, 1, 1});
  REQUIRE(assertion.failure.has_value());
  CHECK(assertion.failure->fault.kind() == "assert");
  CHECK_THAT(assertion.failure->fault.message(), Contains("data[threadIdx.x] < 0.5f"));
  CHECK(assertion.failure->fault.source_line() == 2);
}

TEST_CASE("a barrier that part of a warp skips is reported with those who are missing") {
  const LaunchReport report = RunOn(
      "extern \"C\" __global__ void k(float* data) {\n"
      "  if (threadIdx.x < 10) return;\n"
      "  __syncthreads();\n"
      "  data[threadIdx.x] = 2;\n"
      "}\n",
      {1, 1, 1}, {64, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "divergent_barrier");
  CHECK(report.failure->fault.source_line() == 3);
  CHECK_THAT(report.failure->fault.message(), Contains("54 of 64 threads arrived, 10 have returned"));
}

TEST_CASE("barriers in two branches of a warp do not meet") {
  const LaunchReport report = RunOn(
      "extern \"C\" __global__ void k(float* data) {\n"
      "  if (threadIdx.x & 1) {\n"
      "    asm volatile(\"bar.sync 0;\");\n"
      "    data[threadIdx.x] = 1;\n"
      "  } else {\n"
      "    asm volatile(\"bar.sync 0;\");\n"
      "    data[threadIdx.x] = 2;\n"
      "  }\n"
      "}\n",
      {1, 1, 1}, {32, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "divergent_barrier");
}

TEST_CASE("a shuffle that waits for lanes elsewhere is reported") {
  const LaunchReport report = RunOn(
      "extern \"C\" __global__ void k(float* data) {\n"
      "  float v = data[threadIdx.x];\n"
      "  if (threadIdx.x < 16) v = __shfl_xor_sync(0xffffffffu, v, 1);\n"
      "  else asm volatile(\"bar.sync 1, 64;\");\n"
      "  data[threadIdx.x] = v;\n"
      "}\n",
      {1, 1, 1}, {32, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->outcome == v1::RUNTIME_FAULT);
}

TEST_CASE("an endless loop ends at the time limit and names its line") {
  const LaunchReport report = RunOn(
      "extern \"C\" __global__ void k(volatile float* data) {\n"
      "  while (data[0] > 0)\n"
      "    data[1] = data[1] + 1;\n"
      "}\n",
      {1, 1, 1}, {32, 1, 1}, 0.2);
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->outcome == v1::TIMEOUT);
  CHECK(report.failure->fault.kind() == "timeout");
  CHECK((report.failure->fault.source_line() == 2 || report.failure->fault.source_line() == 3));
}

TEST_CASE("a recursion that is too deep overflows the stack") {
  const LaunchReport report = RunOn(
      "__device__ __noinline__ int deeper(int n) { if (n == 0) return 1; int x = deeper(n - 1); return x * 3 + x / 7; "
      "}\n"
      "extern \"C\" __global__ void k(float* data) { data[threadIdx.x] = deeper(100000 + threadIdx.x); }\n",
      {1, 1, 1}, {32, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "stack_overflow");
}

TEST_CASE("a buffer that is freed is not written any more") {
  KernelHarness kernel = KernelHarness::OfPtx(
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 p) { .reg .b64 %rd<2>; .reg .b32 %r<2>; ld.param.u64 %rd1, [p]; mov.u32 %r1, 1; "
      "st.global.u32 [%rd1], %r1; ret; }");
  kernel.Value<uint64_t>(kernel.FreedAddress(64));
  const LaunchReport report = kernel.Launch("k", {1, 1, 1}, {1, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "use_after_free");
}

}  // namespace
}  // namespace fsr::sim
