// One thread an element, with the exact exponential and division.
// fsr: launch sigmoid grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void sigmoid(const float* input, float* output, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) output[i] = 1.0f / (1.0f + expf(-input[i]));
}
