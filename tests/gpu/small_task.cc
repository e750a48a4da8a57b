#include "tests/gpu/small_task.h"

#include <fmt/format.h>

namespace fsr {
namespace {

constexpr int64_t kMeasuredCount = 1 << 20;

void AddParameter(v1::Task& task, const char* name, v1::ElementType type, v1::Parameter::Role role) {
  v1::Parameter& parameter = *task.add_parameters();
  parameter.set_name(name);
  parameter.set_type(type);
  parameter.set_role(role);
  if (role != v1::Parameter::SIZE) parameter.add_shape(std::string("n"));
}

}  // namespace

v1::Task DoubleTask() {
  v1::Task task;
  task.set_name("twice");
  task.set_description("output[i] = 2 * input[i]");
  AddParameter(task, "input", v1::F32, v1::Parameter::INPUT);
  AddParameter(task, "output", v1::F32, v1::Parameter::OUTPUT);
  AddParameter(task, "n", v1::I32, v1::Parameter::SIZE);
  for (const int64_t n : {1000, 4096}) (*task.add_cases()->mutable_sizes())["n"] = n;
  (*task.mutable_measure()->mutable_sizes())["n"] = kMeasuredCount;
  task.mutable_work()->set_bytes("8 * n");
  task.mutable_work()->set_flops("n");
  task.set_oracle_source(KernelFile({.body = "if (i < n) output[i] = input[i] + input[i];"}));
  task.set_baseline_source(KernelFile({.body = kTwice}));
  return task;
}

std::string KernelFile(const KernelParts& parts) {
  return fmt::format(
      "{}// fsr: launch twice {}\n{}\n"
      "extern \"C\" __global__ void twice(const float* input, float* output, int n) {{\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  {}\n}}\n",
      parts.lines, parts.launch, parts.before, parts.body);
}

}  // namespace fsr
