// Loads, stores and atomics of every width and space.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "common/element_type.h"
#include "tests/worker/sim/kernel_harness.h"

namespace fsr::sim {
namespace {

// Bytes with every sign and pattern.
std::vector<uint8_t> Bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 89 + 13);
  return bytes;
}

template <typename T>
T At(const std::vector<uint8_t>& bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void CheckConversionOnLoad(const std::string& type) {
  CAPTURE(type);
  KernelHarness kernel = KernelHarness::OfCuda("extern \"C\" __global__ void k(const " + type +
                                               "* in, long long* out) { out[threadIdx.x] = in[threadIdx.x]; }");
  const std::vector<uint8_t> in = Bytes(64 * sizeof(T));
  kernel.Buffer("in", in).Buffer("out", std::vector<int64_t>(64));
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {64, 1, 1})) == "");
  const auto out = kernel.Read<int64_t>("out");
  for (size_t i = 0; i < 64; ++i) REQUIRE(out[i] == static_cast<int64_t>(At<T>(in, i)));
}

TEST_CASE("narrow loads extend by their own sign") {
  CheckConversionOnLoad<int8_t>("signed char");
  CheckConversionOnLoad<uint8_t>("unsigned char");
  CheckConversionOnLoad<int16_t>("short");
  CheckConversionOnLoad<uint16_t>("unsigned short");
  CheckConversionOnLoad<int32_t>("int");
  CheckConversionOnLoad<uint32_t>("unsigned");
  CheckConversionOnLoad<int64_t>("long long");
}

TEST_CASE("a signed load into a wider register fills the register and no more") {
  KernelHarness kernel = KernelHarness::OfPtx(R"(
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 in, .param .u64 out) {
      .reg .b16 %rs<2>; .reg .b32 %r<2>; .reg .b64 %rd<4>;
      ld.param.u64 %rd1, [in];
      ld.param.u64 %rd2, [out];
      ld.global.s8 %rs1, [%rd1];
      ld.global.s8 %r1, [%rd1];
      ld.global.s32 %rd3, [%rd1+4];
      st.global.u16 [%rd2], %rs1;
      st.global.u32 [%rd2+4], %r1;
      st.global.u64 [%rd2+8], %rd3;
      ret;
    })");
  kernel.Buffer("in", std::vector<int32_t>{-2, -3}).Buffer("out", std::vector<int32_t>(4, 0));
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {1, 1, 1})) == "");
  CHECK(kernel.Read<int32_t>("out") == std::vector<int32_t>{0xfffe, -2, -3, -1});
}

TEST_CASE("vectors of every width arrive in order") {
  for (const char* type : {"char2", "char4", "short2", "short4", "int2", "int4", "longlong2", "double2", "float4"}) {
    CAPTURE(type);
    KernelHarness kernel =
        KernelHarness::OfCuda(std::string("extern \"C\" __global__ void k(const ") + type + "* in, " + type +
                              "* out) { out[31 - threadIdx.x] = in[threadIdx.x]; }");
    const size_t width = std::string(type) == "char2"                                    ? 2
                         : std::string(type) == "char4" || std::string(type) == "short2" ? 4
                         : std::string(type) == "short4" || std::string(type) == "int2"  ? 8
                                                                                         : 16;
    const std::vector<uint8_t> in = Bytes(32 * width);
    kernel.Buffer("in", in).Buffer("out", std::vector<uint8_t>(in.size()));
    REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
    const auto out = kernel.Read<uint8_t>("out");
    for (size_t i = 0; i < 32; ++i) {
      REQUIRE(std::equal(in.begin() + static_cast<std::ptrdiff_t>(i * width),
                         in.begin() + static_cast<std::ptrdiff_t>((i + 1) * width),
                         out.begin() + static_cast<std::ptrdiff_t>((31 - i) * width)));
    }
  }
}

TEST_CASE("one generic pointer reaches global, shared and local memory") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void k(int* out) {
      __shared__ int shared[32];
      int own[2] = {(int)threadIdx.x * 3, 7};
      shared[threadIdx.x] = threadIdx.x * 5;
      __syncthreads();
      int* p = threadIdx.x % 3 == 0 ? out + threadIdx.x : threadIdx.x % 3 == 1 ? shared + threadIdx.x : own;
      asm volatile("" : "+l"(p));
      int spaces = __isGlobal(p) * 100 + __isShared(p) * 200 + __isLocal(p) * 300;
      out[threadIdx.x] = *p * 1000 + spaces;
    })");
  std::vector<int32_t> numbers(32);
  for (int i = 0; i < 32; ++i) numbers[static_cast<size_t>(i)] = i + 1;
  kernel.Buffer("out", numbers);
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
  const auto out = kernel.Read<int32_t>("out");
  for (int i = 0; i < 32; ++i) {
    const int expected[] = {(i + 1) * 1000 + 100, i * 5000 + 200, i * 3000 + 300};
    CHECK(out[static_cast<size_t>(i)] == expected[i % 3]);
  }
}

TEST_CASE("global and constant variables hold their initial values, pointers among them") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    __device__ int counter = 41;
    __device__ int numbers[4] = {3, 1, 4, 1};
    __device__ int* where = &numbers[2];
    __constant__ float table[3] = {0.5f, 1.5f, 2.5f};
    struct Pair { char c; double d; };
    extern "C" __global__ void k(double* out, Pair pair) {
      out[0] = ++counter; out[1] = *where; out[2] = table[out[3] > 0 ? 1 : 2]; out[3] = pair.d + pair.c;
    })");
  struct Pair {
    char c;
    double d;
  } pair = {3, 0.25};
  kernel.Buffer("out", std::vector<double>(4, 1.0)).Value(pair);
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {1, 1, 1})) == "");
  CHECK(kernel.Read<double>("out") == std::vector<double>{42, 4, 1.5, 3.25});
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {1, 1, 1})) == "");
  CHECK(kernel.Read<double>("out")[0] == 43);
}

// Runs `statement` in 4 blocks of 64 threads, where i is the thread's number in the grid and p the target.
template <typename T>
T Atomically(const std::string& type, const std::string& statement, T initial) {
  KernelHarness kernel =
      KernelHarness::OfCuda("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nextern \"C\" __global__ void k(" + type +
                            "* p) { int i = blockIdx.x * 64 + threadIdx.x; " + statement + "; }");
  kernel.Buffer("p", std::vector<T>(2, initial));
  REQUIRE(FailureText(kernel.Launch("k", {4, 1, 1}, {64, 1, 1})) == "");
  return kernel.Read<T>("p")[0];
}

TEST_CASE("atomics of every operation lose no update") {
  CHECK(Atomically<int32_t>("int", "atomicAdd(p, i)", 5) == 5 + 255 * 128);
  CHECK(Atomically<int32_t>("int", "atomicSub(p, 2)", 5) == 5 - 512);
  CHECK(Atomically<int32_t>("int", "atomicMin(p, 100 - i)", 5) == -155);
  CHECK(Atomically<int32_t>("int", "atomicMax(p, 100 - i)", -500) == 100);
  CHECK(Atomically<uint32_t>("unsigned", "atomicMax(p, 100u - i)", 5) == 0xffffffffu);
  CHECK(Atomically<uint32_t>("unsigned", "atomicMin(p, (unsigned)i + 3)", 500) == 3);
  CHECK(Atomically<int32_t>("int", "atomicAnd(p, ~(1 << i % 20))", -1) == ~0xfffff);
  CHECK(Atomically<int32_t>("int", "atomicOr(p, 1 << i % 20)", 0) == 0xfffff);
  CHECK(Atomically<int32_t>("int", "atomicXor(p, i)", 77) == 77);  // every bit of 0..255 occurs 128 times
  CHECK(Atomically<uint32_t>("unsigned", "atomicInc(p, 9)", 0) == 256 % 10);
  CHECK(Atomically<uint32_t>("unsigned", "atomicDec(p, 9)", 0) == (10 - 256 % 10) % 10);
  CHECK(Atomically<uint32_t>("unsigned", "if (atomicExch(p, 7u) != 7u) atomicAdd(p + 1, 1u)", 0) == 7);
  CHECK(Atomically<uint64_t>("unsigned long long", "atomicAdd(p, 1ull << 33)", 1) == 1 + (256ull << 33));
  CHECK(Atomically<int64_t>("long long", "atomicMin(p, -(1ll << 40) - i)", 0) == -(int64_t{1} << 40) - 255);
  CHECK(Atomically<uint64_t>("unsigned long long", "atomicExch(p, 3ull)", 1) == 3);
  CHECK(Atomically<float>("float", "atomicAdd(p, 0.5f)", 1.0f) == 129.0f);
  CHECK(Atomically<double>("double", "atomicAdd(p, 0.25)", 1.0) == 65.0);
  CHECK(Atomically<uint16_t>("__half", "atomicAdd(p, __float2half(0.5f))", FloatToHalf(1.0f)) == FloatToHalf(129.0f));
  CHECK(Atomically<uint32_t>("__half2", "atomicAdd(p, __floats2half2_rn(1.0f, 0.5f))", 0) ==
        (FloatToHalf(256.0f) | uint32_t{FloatToHalf(128.0f)} << 16));
  CHECK(Atomically<uint32_t>("__nv_bfloat162", "atomicAdd(p, __floats2bfloat162_rn(1.0f, 0.5f))", 0) ==
        (FloatToBfloat16(256.0f) | uint32_t{FloatToBfloat16(128.0f)} << 16));
  CHECK(Atomically<uint16_t>("unsigned short", "atomicCAS(p, (unsigned short)4, (unsigned short)6)", 4) == 6);
}

TEST_CASE("compare-and-swap loops of every width count every thread") {
  CHECK(Atomically<uint32_t>("unsigned",
                             "unsigned old, seen = *p; do { old = seen; seen = atomicCAS(p, old, old + 3); } "
                             "while (seen != old)",
                             1) == 1 + 256 * 3);
  CHECK(Atomically<uint64_t>(
            "unsigned long long",
            "unsigned long long old, seen = *p; do { old = seen; seen = atomicCAS(p, old, old + (1ull << 35)); } "
            "while (seen != old)",
            1) == 1 + (256ull << 35));
}

TEST_CASE("atomics return what was there, each value once") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void k(int* next, int* tickets) {
      __shared__ int local;
      if (threadIdx.x == 0) local = 0;
      __syncthreads();
      int mine = atomicAdd(&local, 1);
      tickets[atomicAdd(next, 1)] = blockIdx.x * 1000 + mine;
    })");
  kernel.Buffer("next", std::vector<int32_t>(1)).Buffer("tickets", std::vector<int32_t>(6 * 96, -1));
  REQUIRE(FailureText(kernel.Launch("k", {6, 1, 1}, {96, 1, 1})) == "");
  auto tickets = kernel.Read<int32_t>("tickets");
  std::sort(tickets.begin(), tickets.end());
  for (int i = 0; i < 6 * 96; ++i) CHECK(tickets[static_cast<size_t>(i)] == i / 96 * 1000 + i % 96);
}

TEST_CASE("wait_all waits for copies that no group was made of, a plain wait_group does not") {
  for (const bool all : {true, false}) {
    KernelHarness kernel = KernelHarness::OfCuda(std::string(R"(
      extern "C" __global__ void copy(const float* in, float* out) {
        __shared__ float tile[32];
        tile[threadIdx.x] = -1.0f;
        unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + threadIdx.x) : "memory");
        asm volatile("cp.async.)") + (all ? "wait_all" : "wait_group 0") +
                                                 R"(;" ::: "memory");
        out[threadIdx.x] = tile[threadIdx.x];
      })");
    std::vector<float> in(32);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) + 0.5f;
    kernel.Buffer("in", in).Buffer("out", std::vector<float>(32, 0.0f));
    const LaunchReport report = kernel.Launch("copy", {1, 1, 1}, {32, 1, 1});
    REQUIRE(FailureText(report) == "");
    CHECK((kernel.Read<float>("out") == in) == all);
  }
}

TEST_CASE("a copy that nobody waited for has not arrived") {
  const std::string kernel_text = R"(
    #include <cuda_pipeline.h>
    extern "C" __global__ void k(const float4* in, float4* out) {
      __shared__ float4 tile[64];
      __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 16, 0);
      __pipeline_commit();
      __pipeline_memcpy_async(&tile[threadIdx.x + 32], &in[threadIdx.x + 32], 16, 8);
      __pipeline_commit();
      __pipeline_wait_prior(1);
      out[threadIdx.x] = tile[threadIdx.x];
      out[threadIdx.x + 32] = tile[threadIdx.x + 32];
      __pipeline_wait_prior(0);
      out[threadIdx.x + 64] = tile[threadIdx.x + 32];
    })";
  KernelHarness kernel = KernelHarness::OfCuda(kernel_text);
  std::vector<float> in(256);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) + 0.5f;
  kernel.Buffer("in", in).Buffer("out", std::vector<float>(96 * 4));
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
  const auto out = kernel.Read<float>("out");
  for (size_t i = 0; i < 128; ++i) {
    CHECK(out[i] == in[i]);
    CHECK(std::isnan(out[128 + i]));
    CHECK(out[256 + i] == (i % 4 < 2 ? in[128 + i] : 0.0f));  // the last 8 of 16 bytes are zero-filled
  }
}

}  // namespace
}  // namespace fsr::sim
