// Accumulates in double: each thread a strided part, then a tree, then the parts of the blocks in order.
// fsr: scratch partial f64[min(1024, ceil_div(n, 256))]
// fsr: launch reduction_parts grid=(min(1024, ceil_div(n, 256))) block=(256) args=(input, partial, n)
// fsr: launch reduction_total grid=(1) block=(1) args=(partial, output, min(1024, ceil_div(n, 256)))
extern "C" __global__ void reduction_parts(const float* input, double* partial, int n) {
  __shared__ double tree[256];
  double sum = 0;
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) sum += input[i];
  tree[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = tree[0];
}

extern "C" __global__ void reduction_total(const double* partial, float* output, int parts) {
  double sum = 0;
  for (int i = 0; i < parts; ++i) sum += partial[i];
  *output = (float)sum;
}
