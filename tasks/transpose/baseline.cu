// One thread an element. Reads are coalesced; the writes of a warp are `rows` elements apart.
// fsr: launch transpose grid=(ceil_div(cols, 32), ceil_div(rows, 8)) block=(32, 8)
extern "C" __global__ void transpose(const float* input, float* output, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < cols) output[(size_t)c * rows + r] = input[(size_t)r * cols + c];
}
