// A small task that the tests bend.
#pragma once

#include <string>

#include "fsr/v1/task.pb.h"

namespace fsr {

inline constexpr char kSmallSource[] = R"(// fsr: launch scale grid=(ceil_div(n, 256)) block=(256)
__global__ void scale(const float* x, float* y, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}
)";

inline constexpr char kSmallYaml[] = R"(name: scale
description: y[i] = factor * x[i]
parameters:
  - {name: x, type: f32, role: input, shape: [n]}
  - {name: y, type: f32, role: output, shape: [n]}
  - {name: n, type: i32, role: size}
  - {name: factor, type: f32, role: scalar}
cases:
  - {sizes: {n: 100}, scalars: {factor: 2.5}}
  - {name: one, sizes: {n: 1}, scalars: {factor: -1}, held_out: true}
measure: {sizes: {n: 1048576}, scalars: {factor: 3}}
tolerance: {absolute: 1e-6, relative: 1e-5}
work: {flops: n, bytes: 8 * n}
)";

inline v1::Parameter MakeParameter(const std::string& name, v1::ElementType type, v1::Parameter::Role role,
                                   const std::string& shape = "") {
  v1::Parameter parameter;
  parameter.set_name(name);
  parameter.set_type(type);
  parameter.set_role(role);
  if (!shape.empty()) parameter.add_shape(shape);
  return parameter;
}

inline v1::Case MakeCase(int64_t n, double factor) {
  v1::Case which;
  (*which.mutable_sizes())["n"] = n;
  (*which.mutable_scalars())["factor"] = factor;
  return which;
}

// What kSmallYaml says, with sources. Sound in every respect.
inline v1::Task SmallTask() {
  v1::Task task;
  task.set_name("scale");
  task.set_description("y[i] = factor * x[i]");
  *task.add_parameters() = MakeParameter("x", v1::F32, v1::Parameter::INPUT, "n");
  *task.add_parameters() = MakeParameter("y", v1::F32, v1::Parameter::OUTPUT, "n");
  *task.add_parameters() = MakeParameter("n", v1::I32, v1::Parameter::SIZE);
  *task.add_parameters() = MakeParameter("factor", v1::F32, v1::Parameter::SCALAR);
  *task.add_cases() = MakeCase(100, 2.5);
  *task.add_cases() = MakeCase(1, -1);
  task.mutable_cases(1)->set_name("one");
  task.mutable_cases(1)->set_held_out(true);
  *task.mutable_measure() = MakeCase(1048576, 3);
  task.mutable_tolerance()->set_absolute(1e-6);
  task.mutable_tolerance()->set_relative(1e-5);
  task.mutable_work()->set_flops("n");
  task.mutable_work()->set_bytes("8 * n");
  task.set_oracle_source(kSmallSource);
  task.set_baseline_source(kSmallSource);
  return task;
}

}  // namespace fsr
