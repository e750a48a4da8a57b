// A tile goes through shared memory, so that both the reads and the writes of a warp are contiguous. VEC elements move
// in one instruction where the matrix's sizes allow it. PAD shifts the rows of the tile across the banks.
// fsr: tune TILE = 16, 32, 64
// fsr: tune ROWS = 16, 2, 4, 8, 32
// fsr: tune PAD = 0, 1, 2, 4
// fsr: tune VEC = 1, 2, 4
// fsr: launch transpose grid=(ceil_div(cols, TILE), ceil_div(rows, TILE)) block=(TILE / VEC, ROWS)
template <int N>
struct alignas(4 * N) Pack {
  float v[N];
};

extern "C" __global__ void transpose(const float* __restrict__ input, float* __restrict__ output, int rows, int cols) {
  __shared__ float tile[TILE][TILE + PAD];
  const int c0 = blockIdx.x * TILE, r0 = blockIdx.y * TILE;
  const int x = threadIdx.x * VEC;
  const bool whole = c0 + TILE <= cols && r0 + TILE <= rows && cols % VEC == 0 && rows % VEC == 0;
  if (whole) {
#pragma unroll
    for (int y = threadIdx.y; y < TILE; y += ROWS) {
      Pack<VEC> p = *reinterpret_cast<const Pack<VEC>*>(&input[(size_t)(r0 + y) * cols + c0 + x]);
#pragma unroll
      for (int i = 0; i < VEC; ++i) tile[y][x + i] = p.v[i];
    }
  } else {
    for (int y = threadIdx.y; y < TILE; y += ROWS)
      for (int i = 0; i < VEC; ++i)
        if (r0 + y < rows && c0 + x + i < cols) tile[y][x + i] = input[(size_t)(r0 + y) * cols + c0 + x + i];
  }
  __syncthreads();
  if (whole) {
#pragma unroll
    for (int y = threadIdx.y; y < TILE; y += ROWS) {
      Pack<VEC> p;
#pragma unroll
      for (int i = 0; i < VEC; ++i) p.v[i] = tile[x + i][y];
      *reinterpret_cast<Pack<VEC>*>(&output[(size_t)(c0 + y) * rows + r0 + x]) = p;
    }
  } else {
    for (int y = threadIdx.y; y < TILE; y += ROWS)
      for (int i = 0; i < VEC; ++i)
        if (c0 + y < cols && r0 + x + i < rows) output[(size_t)(c0 + y) * rows + r0 + x + i] = tile[x + i][y];
  }
}
