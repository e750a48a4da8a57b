// COPIES histograms a block in shared memory, merged into the output at its end: fewer lanes meet at one address. Where
// they do not fit into 48 KiB, the atomics go to device memory.
// fsr: tune BLOCK = 256, 128, 512, 1024
// fsr: tune ITEMS = 4, 1, 2, 8, 16, 32, 64
// fsr: tune COPIES = 1, 2, 4, 8
// fsr: fill output 0
// fsr: launch histogram grid=(ceil_div(n, BLOCK * ITEMS)) block=(BLOCK) shared=min(49152, 4 * bins * COPIES)
extern "C" __global__ void __launch_bounds__(BLOCK) histogram(const int* __restrict__ input, int* __restrict__ output, int n,
                                                              int bins) {
  extern __shared__ int counts[];
  const long long first = (long long)blockIdx.x * BLOCK * ITEMS + threadIdx.x;
  if (4ll * bins * COPIES > 49152) {
    for (int u = 0; u < ITEMS; ++u) {
      const long long i = first + (long long)u * BLOCK;
      if (i < n) atomicAdd(&output[input[i]], 1);
    }
    return;
  }
  for (int i = threadIdx.x; i < bins * COPIES; i += BLOCK) counts[i] = 0;
  __syncthreads();
  int* mine = counts + (threadIdx.x % COPIES) * bins;
#pragma unroll
  for (int u = 0; u < ITEMS; ++u) {
    const long long i = first + (long long)u * BLOCK;
    if (i < n) atomicAdd(&mine[input[i]], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < bins; i += BLOCK) {
    int count = 0;
#pragma unroll
    for (int c = 0; c < COPIES; ++c) count += counts[c * bins + i];
    if (count != 0) atomicAdd(&output[i], count);
  }
}
