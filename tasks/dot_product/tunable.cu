// A thread sums ITEMS accesses of VEC products in registers, a warp by shuffles, a block through shared memory, and one
// atomic a block ends it.
// fsr: tune BLOCK = 256, 64, 128, 512, 1024
// fsr: tune VEC = 1, 2, 4
// fsr: tune ITEMS = 1, 2, 4, 8
// fsr: fill output 0
// fsr: launch dot_product grid=(ceil_div(n, BLOCK * VEC * ITEMS)) block=(BLOCK)
template <int N>
struct alignas(4 * N) Pack {
  float v[N];
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    dot_product(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ output, int n) {
  const long long first = (long long)blockIdx.x * BLOCK * VEC * ITEMS + threadIdx.x * VEC;
  Pack<VEC> p[ITEMS], q[ITEMS];
#pragma unroll
  for (int u = 0; u < ITEMS; ++u) {
    const long long i = first + (long long)u * BLOCK * VEC;
#pragma unroll
    for (int k = 0; k < VEC; ++k) p[u].v[k] = q[u].v[k] = 0.0f;
    if (i + VEC <= n) {
      p[u] = *reinterpret_cast<const Pack<VEC>*>(&a[i]);
      q[u] = *reinterpret_cast<const Pack<VEC>*>(&b[i]);
    } else {
      for (int k = 0; k < VEC && i + k < n; ++k) {
        p[u].v[k] = a[i + k];
        q[u].v[k] = b[i + k];
      }
    }
  }
  float sum = 0.0f;
#pragma unroll
  for (int u = 0; u < ITEMS; ++u)
#pragma unroll
    for (int k = 0; k < VEC; ++k) sum = fmaf(p[u].v[k], q[u].v[k], sum);
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  __shared__ float warps[BLOCK / 32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < BLOCK / 32 ? warps[threadIdx.x] : 0.0f;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) atomicAdd(output, sum);
  }
}
