// Divergence, loops, calls, barriers and waiting.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/worker/sim/kernel_harness.h"

namespace fsr::sim {
namespace {

std::vector<int32_t> RunInts(const std::string& source, uint32_t count, Extents grid, Extents block,
                             bool cooperative = false) {
  KernelHarness kernel = KernelHarness::OfCuda(source);
  kernel.cooperative = cooperative;
  kernel.Buffer("out", std::vector<int32_t>(count));
  const LaunchReport report = kernel.Launch("k", grid, block);
  REQUIRE(FailureText(report) == "");
  return kernel.Read<int32_t>("out");
}

TEST_CASE("lanes loop as often as each needs and meet again") {
  // The number of Collatz steps, and how many lanes stand together afterwards.
  const auto out = RunInts(R"(
    extern "C" __global__ void k(int* out) {
      unsigned n = threadIdx.x + 1; int steps = 0;
      while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; ++steps; }
      out[threadIdx.x] = steps * 100 + __popc(__activemask());
    })",
                           32, {1, 1, 1}, {32, 1, 1});
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t n = lane + 1;
    int steps = 0;
    for (; n != 1; ++steps) n = n % 2 == 1 ? 3 * n + 1 : n / 2;
    CHECK(out[lane] == steps * 100 + 32);
  }
}

TEST_CASE("nested branches give each lane its own way") {
  const auto out = RunInts(R"(
    extern "C" __global__ void k(int* out) {
      int t = threadIdx.x, v;
      if (t & 1) { if (t & 2) v = out[t] + 1; else v = out[t] * 3 + 2; }
      else { if (t & 4) v = out[t + 1] + 3; else { v = 0; for (int i = 0; i < t; ++i) v += out[i] + i * i; } }
      out[t] = v + 10;
    })",
                           65, {1, 1, 1}, {64, 1, 1});
  for (int t = 0; t < 64; ++t) {
    int v = (t & 1) != 0 ? ((t & 2) != 0 ? 1 : 2) : 3;
    if ((t & 1) == 0 && (t & 4) == 0) {
      v = 0;
      // Only lanes of the same warp may have written before, and those write what is not asserted here.
      for (int i = 0; i < t; ++i) v += i * i;
      if (t > 0) continue;
    }
    CHECK(out[static_cast<size_t>(t)] == v + 10);
  }
}

TEST_CASE("a switch reaches every case") {
  const auto out = RunInts(R"(
    extern "C" __global__ void k(int* out) {
      int t = threadIdx.x, v = 1;
      switch (t % 9) {
        case 0: v = t * 7; break;  case 1: v = t ^ 21; break;  case 2: v = t - 100; break;
        case 3: v = t / 3; break;  case 4: v = t % 5; break;   case 5: v = ~t; break;
        case 6: v = t << 3; break; case 7: v = -t * t; break;
      }
      out[t] = v;
    })",
                           96, {1, 1, 1}, {96, 1, 1});
  for (int t = 0; t < 96; ++t) {
    const int expected[] = {t * 7, t ^ 21, t - 100, t / 3, t % 5, ~t, t << 3, -t * t, 1};
    CHECK(out[static_cast<size_t>(t)] == expected[t % 9]);
  }
}

TEST_CASE("a function calls itself in each lane to its own depth") {
  const auto out = RunInts(R"(
    __device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
    extern "C" __global__ void k(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 13); })",
                           32, {1, 1, 1}, {32, 1, 1});
  const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
  for (size_t lane = 0; lane < 32; ++lane) CHECK(out[lane] == fibonacci[lane % 13]);
}

TEST_CASE("recursion keeps the local arrays of each call apart") {
  const auto out = RunInts(R"(
    __device__ __noinline__ int walk(int depth, int salt) {
      volatile int own[8];
      for (int i = 0; i < 8; ++i) own[i] = depth * 100 + i * salt;
      int below = depth > 0 ? walk(depth - 1, salt) : 0;
      int sum = below;
      for (int i = 0; i < 8; ++i) sum += own[i];
      return sum;
    }
    extern "C" __global__ void k(int* out) { out[threadIdx.x] = walk(threadIdx.x % 6, threadIdx.x); })",
                           32, {1, 1, 1}, {32, 1, 1});
  for (int lane = 0; lane < 32; ++lane) {
    int expected = 0;
    for (int depth = 0; depth <= lane % 6; ++depth) expected += 8 * depth * 100 + 28 * lane;
    CHECK(out[static_cast<size_t>(lane)] == expected);
  }
}

TEST_CASE("function pointers lead each lane to its function") {
  const auto out = RunInts(R"(
    __device__ __noinline__ int twice(int x) { return 2 * x; }
    __device__ __noinline__ int square(int x) { return x * x; }
    __device__ __noinline__ int minus(int x) { return -x; }
    __device__ int (*table[3])(int) = {twice, square, minus};
    extern "C" __global__ void k(int* out) { out[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x + 1); })",
                           32, {1, 1, 1}, {32, 1, 1});
  for (int lane = 0; lane < 32; ++lane) {
    const int x = lane + 1;
    const int expected[] = {2 * x, x * x, -x};
    CHECK(out[static_cast<size_t>(lane)] == expected[lane % 3]);
  }
}

TEST_CASE("lanes of one warp may wait for each other's lock") {
  const auto out = RunInts(R"(
    extern "C" __global__ void k(int* out) {
      for (bool done = false; !done;) {
        if (atomicCAS(out, 0, 1) == 0) {
          ((volatile int*)out)[1] = ((volatile int*)out)[1] + 1;
          __threadfence();
          atomicExch(out, 0);
          done = true;
        }
      }
    })",
                           2, {4, 1, 1}, {96, 1, 1});
  CHECK(out[1] == 4 * 96);
}

TEST_CASE("a warp may wait for a flag that another warp of its block sets") {
  const auto out = RunInts(R"(
    extern "C" __global__ void k(int* out) {
      __shared__ volatile int flag;
      if (threadIdx.x == 0) flag = 0;
      __syncthreads();
      if (threadIdx.x < 32) { while (flag == 0) {} out[threadIdx.x] = flag; }
      else if (threadIdx.x == 63) { flag = 5; }
    })",
                           32, {1, 1, 1}, {64, 1, 1});
  CHECK(out == std::vector<int32_t>(32, 5));
}

TEST_CASE("each block may wait for the one before it") {
  const auto out = RunInts(R"(
    extern "C" __global__ void k(int* out) {
      volatile int* chain = out;
      if (threadIdx.x == 0) {
        int before = 0;
        if (blockIdx.x > 0) while ((before = chain[blockIdx.x - 1]) == 0) {}
        __threadfence();
        chain[blockIdx.x] = before + 1;
      }
    })",
                           300, {300, 1, 1}, {32, 1, 1});
  for (int i = 0; i < 300; ++i) CHECK(out[static_cast<size_t>(i)] == i + 1);
}

TEST_CASE("a cooperative grid synchronises all its blocks") {
  const auto out = RunInts(R"(
    #include <cooperative_groups.h>
    extern "C" __global__ void k(int* out) {
      auto grid = cooperative_groups::this_grid();
      int me = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
      out[me] = me;
      grid.sync();
      int other = out[all - 1 - me];
      grid.sync();
      out[me] = other * 2;
    })",
                           64 * 40, {40, 1, 1}, {64, 1, 1}, /*cooperative=*/true);
  for (int i = 0; i < 64 * 40; ++i) CHECK(out[static_cast<size_t>(i)] == (64 * 40 - 1 - i) * 2);
}

TEST_CASE("barriers reduce over the block, also where its last warp is not full") {
  const auto out = RunInts(R"(
    extern "C" __global__ void k(int* out) {
      int count = __syncthreads_count(threadIdx.x % 3 == 0);
      int all = __syncthreads_and(threadIdx.x < 50), any = __syncthreads_or(threadIdx.x == 49);
      out[threadIdx.x] = count * 100 + all * 10 + any;
    })",
                           50, {1, 1, 1}, {50, 1, 1});
  CHECK(out == std::vector<int32_t>(50, 17 * 100 + 10 + 1));
}

TEST_CASE("named barriers let producers go on and consumers wait") {
  const auto out = RunInts(R"(
    extern "C" __global__ void k(int* out) {
      __shared__ int mail[32];
      if (threadIdx.x < 32) {
        mail[threadIdx.x] = threadIdx.x * 3;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
      } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x - 32] = mail[63 - threadIdx.x];
      }
    })",
                           32, {1, 1, 1}, {64, 1, 1});
  for (int i = 0; i < 32; ++i) CHECK(out[static_cast<size_t>(i)] == (31 - i) * 3);
}

TEST_CASE("code behind a barrier that is placed out of line is waited for") {
  // The branch taken by some lanes stands behind the barrier in the text, and comes back to it.
  KernelHarness kernel = KernelHarness::OfPtx(R"(
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out) {
      .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
      mov.u32 %r1, %tid.x;
      mov.u32 %r2, 1;
      setp.lt.u32 %p1, %r1, 5;
      @%p1 bra FAR;
    BACK:
      bar.sync 0;
      ld.param.u64 %rd1, [out];
      mul.wide.u32 %rd2, %r1, 4;
      add.s64 %rd3, %rd1, %rd2;
      st.global.u32 [%rd3], %r2;
      ret;
    FAR:
      mov.u32 %r2, 2;
      bra BACK;
    })");
  kernel.Buffer("out", std::vector<int32_t>(32));
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
  const auto out = kernel.Read<int32_t>("out");
  for (size_t lane = 0; lane < 32; ++lane) CHECK(out[lane] == (lane < 5 ? 2 : 1));
}

TEST_CASE("every thread sees its place in the grid") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void k(int* out) {
      int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
      int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
      unsigned lane, warp, below;
      asm("mov.u32 %0, %laneid;" : "=r"(lane));
      asm("mov.u32 %0, %warpid;" : "=r"(warp));
      asm("mov.u32 %0, %lanemask_lt;" : "=r"(below));
      bool right = lane == thread % 32 && warp == thread / 32 && below == (1u << lane) - 1;
      out[block * blockDim.x * blockDim.y * blockDim.z + thread] = right ? block * 1000 + thread : -1;
    })");
  kernel.Buffer("out", std::vector<int32_t>(2 * 3 * 2 * 60));
  REQUIRE(FailureText(kernel.Launch("k", {2, 3, 2}, {5, 4, 3})) == "");
  const auto out = kernel.Read<int32_t>("out");
  for (int block = 0; block < 12; ++block) {
    for (int thread = 0; thread < 60; ++thread)
      REQUIRE(out[static_cast<size_t>(block * 60 + thread)] == block * 1000 + thread);
  }
}

}  // namespace
}  // namespace fsr::sim
