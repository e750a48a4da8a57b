// Whole kernels as NVRTC compiles them, against plain C++.
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/worker/sim/kernel_harness.h"

namespace fsr::sim {
namespace {

std::vector<float> Ramp(size_t count, float scale) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = scale * static_cast<float>(i % 1013) - 7.0f;
  return values;
}

TEST_CASE("a vector addition writes the sums and nothing beyond its length") {
  constexpr int kLength = 1000;
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) c[i] = a[i] + b[i];
    })");
  const std::vector<float> a = Ramp(kLength, 0.5f), b = Ramp(kLength, 0.125f);
  kernel.Buffer("a", a).Buffer("b", b).Buffer("c", std::vector<float>(1024, -1.0f)).Value<int32_t>(kLength);
  const LaunchReport report = kernel.Launch("add", {4, 1, 1}, {256, 1, 1});
  REQUIRE(FailureText(report) == "");
  const std::vector<float> c = kernel.Read<float>("c");
  for (size_t i = 0; i < c.size(); ++i) CHECK(c[i] == (i < kLength ? a[i] + b[i] : -1.0f));
  CHECK(report.executed_instructions.at("ld.global.f32") == 2 * kLength);
  CHECK(report.executed_instructions.at("st.global.f32") == kLength);
}

TEST_CASE("a transposition through shared memory moves every element") {
  constexpr uint32_t kRows = 70, kColumns = 45;
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void transpose(const float* in, float* out, int rows, int columns) {
      __shared__ float tile[32][33];
      int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
      for (int j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
      __syncthreads();
      x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
      for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < columns) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
    })");
  const std::vector<float> in = Ramp(kRows * kColumns, 1.0f);
  kernel.Buffer("in", in).Buffer("out", std::vector<float>(in.size(), NAN));
  kernel.Value<int32_t>(kRows).Value<int32_t>(kColumns);
  const LaunchReport report = kernel.Launch("transpose", {2, 3, 1}, {32, 8, 1});
  REQUIRE(FailureText(report) == "");
  const std::vector<float> out = kernel.Read<float>("out");
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t column = 0; column < kColumns; ++column) {
      REQUIRE(out[column * kRows + row] == in[row * kColumns + column]);
    }
  }
}

}  // namespace
}  // namespace fsr::sim
