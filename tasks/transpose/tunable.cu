// A tile goes through shared memory, so that both the reads and the writes of a warp are contiguous. VEC elements move
// in one instruction where the matrix's sizes allow it. PAD shifts the rows of the tile across the banks. GROUP rows of tiles
// are worked on together, so that neighbouring blocks also write near each other; STREAM tells the caches that nothing is
// used twice.
// fsr: tune TILE = 16, 32, 64
// fsr: tune ROWS = 16, 2, 4, 8, 32
// fsr: tune PAD = 0, 1, 2, 4
// fsr: tune VEC = 1, 2, 4
// fsr: tune GROUP = 1, 4, 16
// fsr: tune STREAM = 0, 1
// fsr: launch transpose grid=(ceil_div(cols, TILE), ceil_div(rows, TILE)) block=(TILE / VEC, ROWS)
template <int N>
struct alignas(4 * N) Pack {
  float v[N];
};

template <int N>
__device__ __forceinline__ Pack<N> load(const float* at) {
#if STREAM
  Pack<N> p;
  if constexpr (N == 1) p.v[0] = __ldcs(at);
  if constexpr (N == 2) *reinterpret_cast<float2*>(p.v) = __ldcs(reinterpret_cast<const float2*>(at));
  if constexpr (N == 4) *reinterpret_cast<float4*>(p.v) = __ldcs(reinterpret_cast<const float4*>(at));
  return p;
#else
  return *reinterpret_cast<const Pack<N>*>(at);
#endif
}

template <int N>
__device__ __forceinline__ void store(float* at, const Pack<N>& p) {
#if STREAM
  if constexpr (N == 1) __stcs(at, p.v[0]);
  if constexpr (N == 2) __stcs(reinterpret_cast<float2*>(at), *reinterpret_cast<const float2*>(p.v));
  if constexpr (N == 4) __stcs(reinterpret_cast<float4*>(at), *reinterpret_cast<const float4*>(p.v));
#else
  *reinterpret_cast<Pack<N>*>(at) = p;
#endif
}

extern "C" __global__ void transpose(const float* __restrict__ input, float* __restrict__ output, int rows, int cols) {
  __shared__ float tile[TILE][TILE + PAD];
  // Blocks are numbered down GROUP rows of tiles before they go on to the next column of tiles.
  const int number = blockIdx.y * gridDim.x + blockIdx.x, band = number / (GROUP * gridDim.x);
  const int height = min(GROUP, (int)gridDim.y - band * GROUP), within = number - band * GROUP * gridDim.x;
  const int c0 = within / height * TILE, r0 = (band * GROUP + within % height) * TILE;
  const int x = threadIdx.x * VEC;
  const bool whole = c0 + TILE <= cols && r0 + TILE <= rows && cols % VEC == 0 && rows % VEC == 0;
  if (whole) {
#pragma unroll
    for (int y = threadIdx.y; y < TILE; y += ROWS) {
      const Pack<VEC> p = load<VEC>(&input[(size_t)(r0 + y) * cols + c0 + x]);
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
      store<VEC>(&output[(size_t)(c0 + y) * rows + r0 + x], p);
    }
  } else {
    for (int y = threadIdx.y; y < TILE; y += ROWS)
      for (int i = 0; i < VEC; ++i)
        if (c0 + y < cols && r0 + x + i < rows) output[(size_t)(c0 + y) * rows + r0 + x + i] = tile[x + i][y];
  }
}
