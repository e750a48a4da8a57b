// One atomic on device memory an element.
// fsr: fill output 0
// fsr: launch histogram grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void histogram(const int* input, int* output, int n, int bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&output[input[i]], 1);
}
