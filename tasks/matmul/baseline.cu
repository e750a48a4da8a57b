// One thread an element, straight from device memory.
// fsr: launch matmul grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  float sum = 0.0f;
  for (int l = 0; l < k; ++l) sum += a[(size_t)i * k + l] * b[(size_t)l * n + j];
  c[(size_t)i * n + j] = sum;
}
