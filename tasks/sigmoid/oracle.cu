// fsr: launch sigmoid_oracle grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void sigmoid_oracle(const float* input, float* output, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) output[i] = (float)(1.0 / (1.0 + exp(-(double)input[i])));
}
