// Kernels of the kind that are searched for: several ideas of parallel programming at once.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "common/element_type.h"
#include "tests/worker/sim/kernel_harness.h"

namespace fsr::sim {
namespace {

// Numbers without a pattern, the same on every run.
std::vector<uint32_t> Scramble(size_t count) {
  std::vector<uint32_t> values(count);
  uint32_t state = 12345;
  for (uint32_t& value : values) value = state = state * 1664525u + 1013904223u;
  return values;
}

std::vector<float> Uniform(size_t count) {
  std::vector<float> values;
  for (const uint32_t word : Scramble(count)) values.push_back(static_cast<float>(word >> 8) / 16777216.0f - 0.5f);
  return values;
}

TEST_CASE("a sum over shuffles, shared memory and atomics") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void k(const float4* in, float* out, int n) {
      __shared__ float partial[32];
      float sum = 0;
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        float4 v = in[i]; sum += v.x + v.y + v.z + v.w;
      }
      for (int s = 16; s; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
      if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
      __syncthreads();
      if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
        for (int s = 16; s; s >>= 1) sum += __shfl_down_sync(~0u, sum, s);
        if (threadIdx.x == 0) atomicAdd(out, sum);
      }
    })");
  const std::vector<float> in = Uniform(40000);
  kernel.Buffer("in", in).Buffer("out", std::vector<float>(1)).Value<int32_t>(40000);
  REQUIRE(FailureText(kernel.Launch("k", {7, 1, 1}, {256, 1, 1})) == "");
  const double expected = std::accumulate(in.begin(), in.end(), 0.0);
  CHECK(kernel.Read<float>("out")[0] == Approx(expected).margin(1e-2));
}

TEST_CASE("a prefix sum in one pass, where each block looks back") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void k(const int* in, int* out, volatile long long* state, int n) {
      __shared__ int warps[8]; __shared__ int before;
      int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
      int v = i < n ? in[i] : 0, sum = v;
      for (int d = 1; d < 32; d *= 2) { int o = __shfl_up_sync(~0u, sum, d); if (lane >= d) sum += o; }
      if (lane == 31) warps[warp] = sum;
      __syncthreads();
      int base = 0, total = 0;
      for (int w = 0; w < 8; ++w) { if (w < warp) base += warps[w]; total += warps[w]; }
      if (threadIdx.x == 0) {
        state[blockIdx.x] = (1ll << 32) | (unsigned)total;
        int found = 0;
        for (int b = (int)blockIdx.x - 1; b >= 0; --b) {
          long long s; while (((s = state[b]) >> 32) == 0) {}
          found += (int)s;
          if ((s >> 32) == 2) break;
        }
        before = found;
        __threadfence();
        state[blockIdx.x] = (2ll << 32) | (unsigned)(found + total);
      }
      __syncthreads();
      if (i < n) out[i] = before + base + sum;
    })");
  constexpr size_t kCount = 20011;
  std::vector<int32_t> in(kCount);
  for (size_t i = 0; i < kCount; ++i) in[i] = static_cast<int32_t>(i % 17);
  kernel.Buffer("in", in).Buffer("out", std::vector<int32_t>(kCount)).Buffer("state", std::vector<int64_t>(79));
  kernel.Value<int32_t>(kCount);
  REQUIRE(FailureText(kernel.Launch("k", {79, 1, 1}, {256, 1, 1})) == "");
  std::vector<int32_t> expected(kCount);
  std::partial_sum(in.begin(), in.end(), expected.begin());
  CHECK(kernel.Read<int32_t>("out") == expected);
}

TEST_CASE("a bitonic sort of a block") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void k(unsigned* data) {
      extern __shared__ unsigned s[];
      unsigned t = threadIdx.x;
      s[t] = data[t];
      for (unsigned size = 2; size <= blockDim.x; size *= 2) {
        for (unsigned step = size / 2; step; step /= 2) {
          __syncthreads();
          unsigned other = t ^ step;
          if (other > t && (s[t] > s[other]) == ((t & size) == 0)) { unsigned x = s[t]; s[t] = s[other]; s[other] = x; }
        }
      }
      __syncthreads();
      data[t] = s[t];
    })");
  std::vector<uint32_t> data = Scramble(1024);
  kernel.Buffer("data", data);
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {1024, 1, 1}, 4096)) == "");
  std::sort(data.begin(), data.end());
  CHECK(kernel.Read<uint32_t>("data") == data);
}

TEST_CASE("a histogram in shared memory") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void k(const unsigned char* in, unsigned* bins, int n) {
      __shared__ unsigned own[256];
      own[threadIdx.x] = 0;
      __syncthreads();
      for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&own[in[i]], 1u);
      __syncthreads();
      if (own[threadIdx.x]) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
    })");
  constexpr size_t kCount = 30001;
  std::vector<uint8_t> in;
  for (const uint32_t word : Scramble(kCount)) in.push_back(static_cast<uint8_t>(word >> 24));
  kernel.Buffer("in", in).Buffer("bins", std::vector<uint32_t>(256)).Value<int32_t>(kCount);
  REQUIRE(FailureText(kernel.Launch("k", {5, 1, 1}, {256, 1, 1})) == "");
  std::vector<uint32_t> expected(256);
  for (const uint8_t value : in) ++expected[value];
  CHECK(kernel.Read<uint32_t>("bins") == expected);
}

TEST_CASE("a row-wise softmax in bfloat16") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    #include <cuda_bf16.h>
    extern "C" __global__ void k(const __nv_bfloat16* in, __nv_bfloat16* out, int n) {
      int lane = threadIdx.x; in += blockIdx.x * n; out += blockIdx.x * n;
      float most = -1e30f, sum = 0;
      for (int i = lane; i < n; i += 32) most = fmaxf(most, __bfloat162float(in[i]));
      for (int s = 16; s; s >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, s));
      for (int i = lane; i < n; i += 32) sum += __expf(__bfloat162float(in[i]) - most);
      for (int s = 16; s; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
      for (int i = lane; i < n; i += 32) out[i] = __float2bfloat16(__expf(__bfloat162float(in[i]) - most) / sum);
    })");
  constexpr size_t kRows = 5, kColumns = 77;
  std::vector<uint16_t> in;
  for (const float value : Uniform(kRows * kColumns)) in.push_back(FloatToBfloat16(value * 8));
  kernel.Buffer("in", in).Buffer("out", std::vector<uint16_t>(in.size())).Value<int32_t>(kColumns);
  REQUIRE(FailureText(kernel.Launch("k", {kRows, 1, 1}, {32, 1, 1})) == "");
  const auto out = kernel.Read<uint16_t>("out");
  for (size_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (size_t i = 0; i < kColumns; ++i) sum += std::exp(static_cast<double>(Bfloat16ToFloat(in[row * kColumns + i])));
    for (size_t i = 0; i < kColumns; ++i) {
      const size_t at = row * kColumns + i;
      const double expected = std::exp(static_cast<double>(Bfloat16ToFloat(in[at]))) / sum;
      CHECK(static_cast<double>(Bfloat16ToFloat(out[at])) == Approx(expected).epsilon(0.005));
    }
  }
}

TEST_CASE("a tiled matrix multiplication with register blocking and double buffering") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    template <int kTile, int kDepth>
    __device__ __forceinline__ void multiply(const float* a, const float* b, float* c, int n) {
      __shared__ float as[2][kDepth][kTile], bs[2][kDepth][kTile];
      int row = blockIdx.y * kTile, column = blockIdx.x * kTile, t = threadIdx.x, tx = t % 8 * 4, ty = t / 8 * 4;
      float sum[4][4] = {};
      auto load = [&](int stage, int k) {
        for (int i = t; i < kTile * kDepth; i += 64) {
          as[stage][i % kDepth][i / kDepth] = a[(row + i / kDepth) * n + k + i % kDepth];
          bs[stage][i / kTile][i % kTile] = b[(k + i / kTile) * n + column + i % kTile];
        }
      };
      load(0, 0);
      __syncthreads();
      for (int k = 0, stage = 0; k < n; k += kDepth, stage ^= 1) {
        if (k + kDepth < n) load(stage ^ 1, k + kDepth);
        for (int d = 0; d < kDepth; ++d) {
          float4 x = *(float4*)&as[stage][d][ty], y = *(float4*)&bs[stage][d][tx];
          float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
          for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) sum[i][j] += xs[i] * ys[j];
        }
        __syncthreads();
      }
      for (int i = 0; i < 4; ++i)
        *(float4*)&c[(row + ty + i) * n + column + tx] = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    }
    extern "C" __global__ void __launch_bounds__(64) k(const float* a, const float* b, float* c, int n) { multiply<32, 8>(a, b, c, n); })");
  constexpr size_t kSize = 96;
  const std::vector<float> a = Uniform(kSize * kSize);
  std::vector<float> b = a;
  std::reverse(b.begin(), b.end());
  kernel.Buffer("a", a).Buffer("b", b).Buffer("c", std::vector<float>(a.size())).Value<int32_t>(kSize);
  REQUIRE(FailureText(kernel.Launch("k", {3, 3, 1}, {64, 1, 1})) == "");
  const auto c = kernel.Read<float>("c");
  for (size_t row = 0; row < kSize; ++row) {
    for (size_t column = 0; column < kSize; ++column) {
      float expected = 0;  // the kernel sums in the same order, each step one fma
      for (size_t k = 0; k < kSize; ++k) expected = std::fma(a[row * kSize + k], b[k * kSize + column], expected);
      REQUIRE(c[row * kSize + column] == expected);
    }
  }
}

TEST_CASE("cooperative groups: tiles, coalesced lanes, asynchronous copies, a cluster of one") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    #include <cooperative_groups.h>
    #include <cooperative_groups/memcpy_async.h>
    #include <cooperative_groups/reduce.h>
    #include <cooperative_groups/scan.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(const int* in, int* out) {
      __shared__ int tile[256];
      auto block = cg::this_thread_block();
      cg::memcpy_async(block, tile, in, sizeof(int) * 256);
      cg::wait(block);
      auto warp = cg::tiled_partition<32>(block);
      int v = tile[255 - threadIdx.x];
      int total = cg::reduce(warp, v, cg::plus<int>()), before = cg::exclusive_scan(warp, v);
      int together = 0;
      if (v % 2) { auto odd = cg::coalesced_threads(); together = odd.size() * 100 + odd.thread_rank(); }
      auto cluster = cg::this_cluster();
      cluster.sync();
      int* mine = out + threadIdx.x * 4;
      mine[0] = total; mine[1] = before; mine[2] = together; mine[3] = cluster.num_blocks() * 10 + cluster.block_rank();
    })");
  std::vector<int32_t> in(256);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int32_t>(i * i % 37);
  kernel.Buffer("in", in).Buffer("out", std::vector<int32_t>(1024));
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {256, 1, 1})) == "");
  const auto out = kernel.Read<int32_t>("out");
  std::reverse(in.begin(), in.end());
  for (size_t t = 0; t < 256; ++t) {
    const auto warp = in.begin() + static_cast<std::ptrdiff_t>(t / 32 * 32),
               me = in.begin() + static_cast<std::ptrdiff_t>(t);
    const auto is_odd = [](int32_t value) { return value % 2 != 0; };
    const auto odd = std::count_if(warp, warp + 32, is_odd), rank = std::count_if(warp, me, is_odd);
    CHECK(out[t * 4] == std::accumulate(warp, warp + 32, 0));
    CHECK(out[t * 4 + 1] == std::accumulate(warp, me, 0));
    CHECK(out[t * 4 + 2] == (is_odd(*me) ? odd * 100 + rank : 0));
    CHECK(out[t * 4 + 3] == 10);
  }
}

TEST_CASE("a run repeats exactly") {
  const auto run = [] {
    KernelHarness kernel = KernelHarness::OfCuda(R"(
      extern "C" __global__ void k(float* out, const float* in) {
        __shared__ float s[64];
        float v = in[blockIdx.x * 64 + threadIdx.x];
        for (int i = 0; i < (int)(threadIdx.x % 7); ++i) v = v * 1.5f + __sinf(v);
        s[threadIdx.x] = v;
        __syncthreads();
        atomicAdd(&s[threadIdx.x % 3], v);
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
      })");
    kernel.Buffer("out", std::vector<float>(640)).Buffer("in", Uniform(640));
    REQUIRE(FailureText(kernel.Launch("k", {10, 1, 1}, {64, 1, 1})) == "");
    return kernel.Read<float>("out");
  };
  CHECK(run() == run());
}

}  // namespace
}  // namespace fsr::sim
