// The textbook tree: one sample a thread, half of the threads idle after each step, one atomic a block.
// fsr: fill output 0
// fsr: launch monte_carlo grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void monte_carlo(const float* samples, float* output, float lower, float upper, int n) {
  __shared__ float tree[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tree[threadIdx.x] = i < n ? samples[i] : 0.0f;
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) tree[threadIdx.x] += tree[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(output, tree[0] * ((upper - lower) / n));
}
