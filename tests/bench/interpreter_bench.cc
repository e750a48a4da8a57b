// How many thread-instructions the interpreter runs in a second, on a naive matrix multiplication.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "tests/worker/sim/kernel_harness.h"

namespace fsr::sim {
namespace {

constexpr char kMatmul[] = R"(
  extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
  })";

void Measure(int n, bool estimate) {
  const size_t elements = static_cast<size_t>(n) * static_cast<size_t>(n);
  KernelHarness kernel = KernelHarness::OfCuda(kMatmul);
  kernel.options.time_limit = absl::Minutes(5);
  kernel.options.estimate = estimate;
  const std::vector<float> ones(elements, 1.0f);
  kernel.Buffer("a", ones).Buffer("b", ones).Buffer("c", ones).Value<int32_t>(n);
  const uint32_t blocks = static_cast<uint32_t>(n) / 16;
  const std::clock_t cpu_begin = std::clock();  // of all threads: a busy machine does not change it much
  const auto begin = std::chrono::steady_clock::now();
  const LaunchReport report = kernel.Launch("matmul", {blocks, blocks, 1}, {16, 16, 1});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double cpu_seconds = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  if (report.failure.has_value()) {
    fmt::print("{}\n", FailureText(report));
    std::exit(1);
  }
  uint64_t instructions = 0;
  for (const auto& [opcode, count] : report.executed_instructions) instructions += count;
  const double millions = static_cast<double>(instructions) / 1e6;
  fmt::print(
      "matmul {0}x{0}{1}: {2:.1f} million thread-instructions; million a second: {3:.0f}, and of one processor "
      "{4:.0f}\n",
      n, estimate ? " with estimate" : "", millions, millions / seconds, millions / cpu_seconds);
}

}  // namespace
}  // namespace fsr::sim

int main() {
  fsr::sim::Measure(256, false);
  fsr::sim::Measure(512, false);
  fsr::sim::Measure(256, true);
}
