// In double, in three steps: the sum of every part of 1024, the prefix sums of those, and each part from its start.
// fsr: scratch parts f64[ceil_div(n, 1024)]
// fsr: launch part_sums grid=(ceil_div(ceil_div(n, 1024), 128)) block=(128) args=(input, parts, n)
// fsr: launch part_starts grid=(1) block=(1) args=(parts, ceil_div(n, 1024))
// fsr: launch part_scans grid=(ceil_div(ceil_div(n, 1024), 128)) block=(128) args=(input, parts, output, n)
extern "C" __global__ void part_sums(const float* input, double* parts, int n) {
  long long part = blockIdx.x * 128ll + threadIdx.x, first = part * 1024;
  if (first >= n) return;
  double sum = 0;
  for (long long i = first; i < first + 1024 && i < n; ++i) sum += input[i];
  parts[part] = sum;
}

extern "C" __global__ void part_starts(double* parts, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    double here = parts[i];
    parts[i] = sum;
    sum += here;
  }
}

extern "C" __global__ void part_scans(const float* input, const double* parts, float* output, int n) {
  long long part = blockIdx.x * 128ll + threadIdx.x, first = part * 1024;
  if (first >= n) return;
  double sum = parts[part];
  for (long long i = first; i < first + 1024 && i < n; ++i) {
    sum += input[i];
    output[i] = (float)sum;
  }
}
