// One thread an element, accumulated in double.
// fsr: launch matmul_oracle grid=(ceil_div(n, 32), ceil_div(m, 8)) block=(32, 8)
extern "C" __global__ void matmul_oracle(const float* a, const float* b, float* c, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  double sum = 0;
  for (int l = 0; l < k; ++l) sum += (double)a[(long long)i * k + l] * (double)b[(long long)l * n + j];
  c[(long long)i * n + j] = (float)sum;
}
