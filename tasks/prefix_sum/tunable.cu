// Reduce, then scan: the sums of tiles of BLOCK * ITEMS elements, the starts of the tiles from them by one block, then
// every tile from its start. The input is read twice and nothing is written twice.
// fsr: tune BLOCK = 128, 64, 256, 512, 1024
// fsr: tune ITEMS = 4, 8, 16
// fsr: tune TOP = 1024, 256, 512
// fsr: scratch starts f32[ceil_div(n, BLOCK * ITEMS)]
// fsr: launch tile_sums grid=(ceil_div(n, BLOCK * ITEMS)) block=(BLOCK) args=(input, starts, n)
// fsr: launch tile_starts grid=(1) block=(TOP) args=(starts, ceil_div(n, BLOCK * ITEMS))
// fsr: launch tile_scans grid=(ceil_div(n, BLOCK * ITEMS)) block=(BLOCK) args=(input, starts, output, n)
struct alignas(16) Pack {
  float v[4];
};

// The inclusive prefix sum over the block of one value a thread; `total` is the sum of all.
template <int THREADS>
__device__ __forceinline__ float block_scan(float value, float& total) {
  __shared__ float warps[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    float before = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += before;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    float part = lane < THREADS / 32 ? warps[lane] : 0.0f;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      float before = __shfl_up_sync(0xffffffffu, part, step);
      if (lane >= step) part += before;
    }
    warps[lane] = part;
  }
  __syncthreads();
  if (warp > 0) sum += warps[warp - 1];
  total = warps[THREADS / 32 - 1];
  __syncthreads();
  return sum;
}

__device__ __forceinline__ void load_items(const float* __restrict__ input, long long first, int n, float (&items)[ITEMS]) {
  if (first + ITEMS <= n) {
#pragma unroll
    for (int k = 0; k < ITEMS; k += 4) {
      Pack p = *reinterpret_cast<const Pack*>(&input[first + k]);
#pragma unroll
      for (int j = 0; j < 4; ++j) items[k + j] = p.v[j];
    }
  } else {
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) items[k] = first + k < n ? input[first + k] : 0.0f;
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK) tile_sums(const float* __restrict__ input, float* __restrict__ starts, int n) {
  float items[ITEMS], sum = 0.0f, total;
  load_items(input, ((long long)blockIdx.x * BLOCK + threadIdx.x) * ITEMS, n, items);
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) sum += items[k];
  block_scan<BLOCK>(sum, total);
  if (threadIdx.x == 0) starts[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(TOP) tile_starts(float* starts, int count) {
  float before = 0.0f, total;
  for (int first = 0; first < count; first += TOP) {
    const int i = first + threadIdx.x;
    const float value = i < count ? starts[i] : 0.0f;
    const float sum = block_scan<TOP>(value, total);
    if (i < count) starts[i] = before + (sum - value);
    before += total;
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    tile_scans(const float* __restrict__ input, const float* __restrict__ starts, float* __restrict__ output, int n) {
  float items[ITEMS], total;
  const long long first = ((long long)blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
  load_items(input, first, n, items);
#pragma unroll
  for (int k = 1; k < ITEMS; ++k) items[k] += items[k - 1];
  const float own = items[ITEMS - 1];
  const float before = starts[blockIdx.x] + (block_scan<BLOCK>(own, total) - own);
  if (first + ITEMS <= n) {
#pragma unroll
    for (int k = 0; k < ITEMS; k += 4) {
      Pack p;
#pragma unroll
      for (int j = 0; j < 4; ++j) p.v[j] = before + items[k + j];
      *reinterpret_cast<Pack*>(&output[first + k]) = p;
    }
  } else {
    for (int k = 0; k < ITEMS; ++k)
      if (first + k < n) output[first + k] = before + items[k];
  }
}
