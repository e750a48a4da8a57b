// fsr: launch transpose_oracle grid=(ceil_div(cols, 32), ceil_div(rows, 8)) block=(32, 8)
extern "C" __global__ void transpose_oracle(const float* input, float* output, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < cols) output[(long long)c * rows + r] = input[(long long)r * cols + c];
}
