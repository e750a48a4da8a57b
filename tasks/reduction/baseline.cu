// The textbook tree: one element a thread, half of the threads idle after each step, one atomic a block.
// fsr: fill output 0
// fsr: launch reduction grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void reduction(const float* input, float* output, int n) {
  __shared__ float tree[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tree[threadIdx.x] = i < n ? input[i] : 0.0f;
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) tree[threadIdx.x] += tree[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(output, tree[0]);
}
