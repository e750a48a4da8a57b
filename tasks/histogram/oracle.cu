// One block a value: it counts that value alone, with no atomics.
// fsr: launch histogram_oracle grid=(min(bins, 65536)) block=(256)
extern "C" __global__ void histogram_oracle(const int* input, int* output, int n, int bins) {
  __shared__ int tree[256];
  for (int value = blockIdx.x; value < bins; value += gridDim.x) {
    int count = 0;
    for (long long i = threadIdx.x; i < n; i += 256) count += input[i] == value;
    tree[threadIdx.x] = count;
    for (int half = 128; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
    }
    if (threadIdx.x == 0) output[value] = tree[0];
    __syncthreads();
  }
}
