// A block computes a BM x BN tile of c in steps of BK through shared memory; a thread holds a TM x TN part of it in
// registers, its rows and columns spread across the tile so that a warp's accesses to shared memory are contiguous.
// fsr: tune BM = 32, 64, 128
// fsr: tune BN = 32, 64, 128
// fsr: tune BK = 8, 16, 32
// fsr: tune TM = 2, 1, 4, 8
// fsr: tune TN = 2, 1, 4, 8
// fsr: launch matmul grid=(ceil_div(n, BN), ceil_div(m, BM)) block=(BN / TN, BM / TM)
extern "C" __global__ void __launch_bounds__((BN / TN) * (BM / TM))
    matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  constexpr int kColumns = BN / TN, kRows = BM / TM, kThreads = kColumns * kRows;
  __shared__ float as[BK][BM + 1];
  __shared__ float bs[BK][BN];
  const int i0 = blockIdx.y * BM, j0 = blockIdx.x * BN;
  const int t = threadIdx.y * kColumns + threadIdx.x;
  float sum[TM][TN] = {};
  for (int l0 = 0; l0 < k; l0 += BK) {
#pragma unroll 4
    for (int e = t; e < BM * BK; e += kThreads) {
      const int i = e / BK, l = e % BK;
      as[l][i] = i0 + i < m && l0 + l < k ? a[(size_t)(i0 + i) * k + l0 + l] : 0.0f;
    }
#pragma unroll 4
    for (int e = t; e < BK * BN; e += kThreads) {
      const int l = e / BN, j = e % BN;
      bs[l][j] = l0 + l < k && j0 + j < n ? b[(size_t)(l0 + l) * n + j0 + j] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < BK; ++l) {
      float ar[TM], br[TN];
#pragma unroll
      for (int y = 0; y < TM; ++y) ar[y] = as[l][threadIdx.y + y * kRows];
#pragma unroll
      for (int x = 0; x < TN; ++x) br[x] = bs[l][threadIdx.x + x * kColumns];
#pragma unroll
      for (int y = 0; y < TM; ++y)
#pragma unroll
        for (int x = 0; x < TN; ++x) sum[y][x] = fmaf(ar[y], br[x], sum[y][x]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int y = 0; y < TM; ++y)
#pragma unroll
    for (int x = 0; x < TN; ++x) {
      const int i = i0 + threadIdx.y + y * kRows, j = j0 + threadIdx.x + x * kColumns;
      if (i < m && j < n) c[(size_t)i * n + j] = sum[y][x];
    }
}
