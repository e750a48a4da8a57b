// Tensor-core instructions against plain sums.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "common/element_type.h"
#include "tests/worker/sim/kernel_harness.h"

namespace fsr::sim {
namespace {

// Small integers: every sum of their products is exact in every type used here.
int Small(size_t i) { return static_cast<int>(i * 7 % 11) - 5; }

std::vector<float> Product(const std::vector<float>& a, const std::vector<float>& b, size_t m, size_t n, size_t k) {
  std::vector<float> c(m * n);
  for (size_t row = 0; row < m; ++row) {
    for (size_t column = 0; column < n; ++column) {
      for (size_t i = 0; i < k; ++i) c[row * n + column] += a[row * k + i] * b[i * n + column];
    }
  }
  return c;
}

std::vector<float> Floats(size_t count, size_t salt) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(Small(i + salt));
  return values;
}

std::vector<uint16_t> Halves(const std::vector<float>& values) {
  std::vector<uint16_t> halves;
  for (const float value : values) halves.push_back(FloatToHalf(value));
  return halves;
}

TEST_CASE("wmma multiplies tiles of half precision in any orientation") {
  for (const bool transposed : {false, true}) {
    CAPTURE(transposed);
    const std::string b_layout = transposed ? "col_major" : "row_major";
    KernelHarness kernel = KernelHarness::OfCuda(R"(
      #include <cuda_fp16.h>
      #include <mma.h>
      using namespace nvcuda::wmma;
      extern "C" __global__ void k(const half* a, const half* b, float* c) {
        fragment<matrix_a, 16, 16, 16, half, row_major> fa;
        fragment<matrix_b, 16, 16, 16, half, )" + b_layout +
                                                 R"(> fb;
        fragment<accumulator, 16, 16, 16, float> fc;
        __shared__ half tile[16 * 24];
        for (int i = threadIdx.x; i < 256; i += 32) tile[i / 16 * 24 + i % 16] = a[i];
        __syncthreads();
        fill_fragment(fc, 1.0f);
        load_matrix_sync(fa, tile, 24);
        load_matrix_sync(fb, b, 16);
        for (int i = 0; i < 2; ++i) mma_sync(fc, fa, fb, fc);
        for (int i = 0; i < fc.num_elements; ++i) fc.x[i] -= 1.0f;
        store_matrix_sync(c, fc, 16, mem_row_major);
      })");
    const std::vector<float> a = Floats(256, 1), b = Floats(256, 5);
    std::vector<float> b_in_memory = b;
    for (size_t i = 0; transposed && i < 256; ++i) b_in_memory[i % 16 * 16 + i / 16] = b[i];
    kernel.Buffer("a", Halves(a)).Buffer("b", Halves(b_in_memory)).Buffer("c", std::vector<float>(256));
    REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
    const auto c = kernel.Read<float>("c"), expected = Product(a, b, 16, 16, 16);
    for (size_t i = 0; i < 256; ++i) CHECK(c[i] == 2 * expected[i]);
  }
}

// Writes A (16 x K) and B (K x 8) into fragments by the indices that the PTX ISA gives for the shape, element by
// element, and reads C back likewise.
TEST_CASE("mma m16n8k16 on halves has the fragments of the PTX ISA") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    #include <cuda_fp16.h>
    extern "C" __global__ void k(const half* a, const half* b, float* c) {
      int group = threadIdx.x >> 2, t = threadIdx.x & 3;
      half fa[8], fb[4]; float fc[4] = {0, 0, 0, 0};
      for (int i = 0; i < 8; ++i) {
        int row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8, column = t * 2 + (i & 1) + (i >= 4 ? 8 : 0);
        fa[i] = a[row * 16 + column];
      }
      for (int i = 0; i < 4; ++i) fb[i] = b[(t * 2 + (i & 1) + (i >= 2 ? 8 : 0)) * 8 + group];
      const unsigned *ra = (const unsigned*)fa, *rb = (const unsigned*)fb;
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(fc[0]), "+f"(fc[1]), "+f"(fc[2]), "+f"(fc[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
      for (int i = 0; i < 4; ++i) c[(i < 2 ? group : group + 8) * 8 + t * 2 + (i & 1)] = fc[i];
    })");
  const std::vector<float> a = Floats(256, 2), b = Floats(128, 3);
  kernel.Buffer("a", Halves(a)).Buffer("b", Halves(b)).Buffer("c", std::vector<float>(128));
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
  CHECK(kernel.Read<float>("c") == Product(a, b, 16, 8, 16));
}

TEST_CASE("mma m16n8k8 on TF32 and m16n8k32 on bytes have theirs") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void tf32(const float* a, const float* b, float* c) {
      int group = threadIdx.x >> 2, t = threadIdx.x & 3;
      unsigned fa[4], fb[2]; float fc[4] = {0, 0, 0, 0};
      for (int i = 0; i < 4; ++i) fa[i] = __float_as_uint(a[(group + (i & 1) * 8) * 8 + t + (i >= 2 ? 4 : 0)]);
      for (int i = 0; i < 2; ++i) fb[i] = __float_as_uint(b[(t + i * 4) * 8 + group]);
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(fc[0]), "+f"(fc[1]), "+f"(fc[2]), "+f"(fc[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
      for (int i = 0; i < 4; ++i) c[(i < 2 ? group : group + 8) * 8 + t * 2 + (i & 1)] = fc[i];
    }
    extern "C" __global__ void bytes(const signed char* a, const signed char* b, int* c) {
      int group = threadIdx.x >> 2, t = threadIdx.x & 3;
      signed char fa[16], fb[8]; int fc[4] = {0, 0, 0, 0};
      for (int i = 0; i < 16; ++i) {
        int row = (i < 4 || (i >= 8 && i < 12)) ? group : group + 8;
        fa[i] = a[row * 32 + t * 4 + (i & 3) + (i >= 8 ? 16 : 0)];
      }
      for (int i = 0; i < 8; ++i) fb[i] = b[(t * 4 + (i & 3) + (i >= 4 ? 16 : 0)) * 8 + group];
      const unsigned *ra = (const unsigned*)fa, *rb = (const unsigned*)fb;
      asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(fc[0]), "+r"(fc[1]), "+r"(fc[2]), "+r"(fc[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
      for (int i = 0; i < 4; ++i) c[(i < 2 ? group : group + 8) * 8 + t * 2 + (i & 1)] = fc[i];
    })");
  const std::vector<float> a = Floats(128, 2), b = Floats(64, 3);
  kernel.Buffer("a", a).Buffer("b", b).Buffer("c", std::vector<float>(128));
  REQUIRE(FailureText(kernel.Launch("tf32", {1, 1, 1}, {32, 1, 1})) == "");
  CHECK(kernel.Read<float>("c") == Product(a, b, 16, 8, 8));

  KernelHarness bytes = KernelHarness::OfPtx(kernel.ptx());
  const std::vector<float> wide_a = Floats(512, 1), wide_b = Floats(256, 4);
  bytes.Buffer("a", std::vector<int8_t>(wide_a.begin(), wide_a.end()));
  bytes.Buffer("b", std::vector<int8_t>(wide_b.begin(), wide_b.end())).Buffer("c", std::vector<int32_t>(128));
  REQUIRE(FailureText(bytes.Launch("bytes", {1, 1, 1}, {32, 1, 1})) == "");
  const auto sums = bytes.Read<int32_t>("c");
  const auto expected = Product(wide_a, wide_b, 16, 8, 32);
  for (size_t i = 0; i < 128; ++i) CHECK(sums[i] == static_cast<int32_t>(expected[i]));
}

TEST_CASE("ldmatrix hands each lane two elements of a row, or of a column") {
  KernelHarness kernel = KernelHarness::OfCuda(R"(
    extern "C" __global__ void k(const unsigned short* in, unsigned* out) {
      __shared__ __align__(16) unsigned short tile[4 * 64];
      for (int i = threadIdx.x; i < 256; i += 32) tile[i] = in[i];
      __syncwarp();
      unsigned at = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x * 8]), r[4], s[2];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(s[0]), "=r"(s[1]) : "r"(at));
      for (int i = 0; i < 4; ++i) out[i * 32 + threadIdx.x] = r[i];
      for (int i = 0; i < 2; ++i) out[(4 + i) * 32 + threadIdx.x] = s[i];
    })");
  std::vector<uint16_t> in(256);
  for (size_t i = 0; i < 256; ++i) in[i] = static_cast<uint16_t>(i * 3 + 1);
  kernel.Buffer("in", in).Buffer("out", std::vector<uint32_t>(6 * 32));
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
  const auto out = kernel.Read<uint32_t>("out");
  for (size_t lane = 0; lane < 32; ++lane) {
    const size_t major = lane / 4, minor = lane % 4 * 2;
    for (size_t matrix = 0; matrix < 4; ++matrix) {
      const uint16_t* rows = in.data() + matrix * 64;
      CHECK(out[matrix * 32 + lane] == (rows[major * 8 + minor] | uint32_t{rows[major * 8 + minor + 1]} << 16));
      if (matrix >= 2) continue;
      CHECK(out[(4 + matrix) * 32 + lane] == (rows[minor * 8 + major] | uint32_t{rows[(minor + 1) * 8 + major]} << 16));
    }
  }
}

}  // namespace
}  // namespace fsr::sim
