// Small files and a task for tests of reading answers.
#pragma once

#include <string>

#include "fsr/v1/task.pb.h"
#include "server/answers/read_answer.h"

namespace fsr::testing {

// A whole candidate file.
inline const std::string kFile =
    "// fsr: launch f grid=(1) block=(32)\n"
    "__global__ void f(float* y, int n) {\n"
    "  if (threadIdx.x < n) y[threadIdx.x] = 1;\n"
    "}\n";
// Another one.
inline const std::string kOther =
    "// fsr: launch g grid=(2) block=(64)\n"
    "#include <cuda_fp16.h>\n"
    "__global__ void g(float* y, int n) {\n"
    "  y[blockIdx.x] = 2;\n"
    "}\n";
// kFile without its launch line.
inline const std::string kKernel = kFile.substr(kFile.find('\n') + 1);
inline const std::string kLaunch = kFile.substr(0, kFile.find('\n') + 1);

// How f is launched stands in the task.
inline v1::Task FixedTask() {
  v1::Task task;
  task.set_launch(v1::Task::FIXED);
  task.set_baseline_source(kFile);
  return task;
}

inline std::string Fenced(const std::string& code) { return "```cuda\n" + code + "```\n"; }

}  // namespace fsr::testing
