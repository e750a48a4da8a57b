// Several elements a thread, VEC of them in one access, and (FAST = 1) the hardware's exponential and division.
// fsr: tune BLOCK = 256, 64, 128, 512, 1024
// fsr: tune VEC = 1, 2, 4
// fsr: tune UNROLL = 1, 2, 4, 8
// fsr: tune FAST = 0, 1
// fsr: launch sigmoid grid=(ceil_div(n, BLOCK * VEC * UNROLL)) block=(BLOCK)
template <int N>
struct alignas(4 * N) Pack {
  float v[N];
};

__device__ __forceinline__ float logistic(float x) {
#if FAST
  return __fdividef(1.0f, 1.0f + __expf(-x));
#else
  return 1.0f / (1.0f + expf(-x));
#endif
}

extern "C" __global__ void __launch_bounds__(BLOCK) sigmoid(const float* __restrict__ input, float* __restrict__ output,
                                                            int n) {
  const long long first = (long long)blockIdx.x * BLOCK * VEC * UNROLL + threadIdx.x * VEC;
  Pack<VEC> p[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    const long long i = first + (long long)u * BLOCK * VEC;
    if (i + VEC <= n) p[u] = *reinterpret_cast<const Pack<VEC>*>(&input[i]);
  }
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    const long long i = first + (long long)u * BLOCK * VEC;
    if (i + VEC <= n) {
#pragma unroll
      for (int k = 0; k < VEC; ++k) p[u].v[k] = logistic(p[u].v[k]);
      *reinterpret_cast<Pack<VEC>*>(&output[i]) = p[u];
    } else {
      for (long long k = i; k < n; ++k) output[k] = logistic(input[k]);
    }
  }
}
