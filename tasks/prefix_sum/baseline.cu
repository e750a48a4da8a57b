// The textbook way: every block scans 512 elements step by step (Hillis and Steele), one block scans the blocks' sums,
// and a last pass adds them.
// fsr: scratch sums f32[ceil_div(n, 512)]
// fsr: launch scan_blocks grid=(ceil_div(n, 512)) block=(512) args=(input, output, sums, n)
// fsr: launch scan_sums grid=(1) block=(512) args=(sums, ceil_div(n, 512))
// fsr: launch add_sums grid=(ceil_div(n, 512)) block=(512) args=(output, sums, n)
__device__ float scan_512(float value, float* shared) {
  int t = threadIdx.x;
  shared[t] = value;
  __syncthreads();
  for (int step = 1; step < 512; step *= 2) {
    float before = t >= step ? shared[t - step] : 0.0f;
    __syncthreads();
    shared[t] += before;
    __syncthreads();
  }
  return shared[t];
}

extern "C" __global__ void scan_blocks(const float* input, float* output, float* sums, int n) {
  __shared__ float shared[512];
  long long i = blockIdx.x * 512ll + threadIdx.x;
  float sum = scan_512(i < n ? input[i] : 0.0f, shared);
  if (i < n) output[i] = sum;
  if (threadIdx.x == 511) sums[blockIdx.x] = sum;
}

extern "C" __global__ void scan_sums(float* sums, int count) {
  __shared__ float shared[512];
  float before = 0.0f;
  for (int first = 0; first < count; first += 512) {
    int i = first + threadIdx.x;
    float sum = scan_512(i < count ? sums[i] : 0.0f, shared);
    if (i < count) sums[i] = before + sum;
    before += shared[511];
    __syncthreads();
  }
}

extern "C" __global__ void add_sums(float* output, const float* sums, int n) {
  long long i = blockIdx.x * 512ll + threadIdx.x;
  if (i < n && blockIdx.x > 0) output[i] += sums[blockIdx.x - 1];
}
