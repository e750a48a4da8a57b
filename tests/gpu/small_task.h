// output[i] = 2 * input[i], and kernels for it: right ones, and every way to break.
#pragma once

#include <string>

#include "fsr/v1/task.pb.h"

namespace fsr {

v1::Task DoubleTask();

// A kernel file whose kernel is `twice(const float* input, float* output, int n)`; `i` is the thread's index. `lines`
// are `// fsr:` lines beside the launch, each ended by a line feed; `before` stands in front of the kernel.
struct KernelParts {
  std::string body;
  std::string launch = "grid=(ceil_div(n, 256)) block=(256)";
  std::string lines = "";
  std::string before = "";
};
std::string KernelFile(const KernelParts& parts);

inline constexpr char kTwice[] = "if (i < n) output[i] = 2.0f * input[i];";
inline constexpr char kHang[] = "for (;;) __nanosleep(1000);";
inline constexpr char kTrap[] = "if (i == 0) __trap();";
inline constexpr char kIllegalAddress[] = "if (i == 0) output[1ll << 40] = 1.0f;";
inline constexpr char kMisaligned[] = "if (i == 0) *reinterpret_cast<float4*>(output + 1) = float4{1, 2, 3, 4};";
inline constexpr char kWrong[] = "if (i < n) output[i] = 2.5f * input[i];";

}  // namespace fsr
