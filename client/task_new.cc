// task new: a commented skeleton that already passes `fsr task lint`.
#include <fmt/format.h>

#include "client/commands.h"
#include "common/files.h"
#include "common/status_macros.h"

namespace fsr {
namespace {

// "@" stands for the task's name.
constexpr char kTaskYaml[] =
    R"(# What is to be computed. `fsr task lint` checks this file; an unknown field is an error.
name: @
# Plain English, for people and for the generator: what each output element is.
description: >
  Scale a vector: output[i] = factor * input[i] for every i in [0, n).
# The kernel's parameters, in order. type: f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64.
# role: input, output, inout (buffers); size (an integer of the case), scalar (a number of the case).
# shape: one expression a dimension, outermost first; + - * / % min() max() ceil_div() over the sizes.
# data (inputs): {distribution: uniform, low: "-1", high: "1"}, {distribution: normal, mean: 0, standard_deviation: 1},
# or {distribution: constant, low: "3"}. Choose data with which no constant or zero output is within the tolerance.
parameters:
  - {name: input, type: f32, role: input, shape: [n], data: {distribution: normal, mean: 0, standard_deviation: 1}}
  - {name: output, type: f32, role: output, shape: [n]}
  - {name: factor, type: f32, role: scalar}
  - {name: n, type: i32, role: size}
# Judged on all of these. Some held out (the generator never sees them), some with sizes that divide no tile.
cases:
  - {sizes: {n: 1}, scalars: {factor: 2}}
  - {sizes: {n: 1024}, scalars: {factor: -0.5}}
  - {sizes: {n: 1000}, scalars: {factor: 3}}
  - {sizes: {n: 65537}, scalars: {factor: 1.5}, held_out: true}
  - {sizes: {n: 333}, scalars: {factor: 7}, held_out: true}
# Measured on this one (and judged on it, too); a smaller one for simulated devices.
measure: {sizes: {n: 67108864}, scalars: {factor: 2}}
measure_simulated: {sizes: {n: 1048576}, scalars: {factor: 2}}
# An element is right if |got - expected| <= absolute + relative * |expected|.
tolerance: {absolute: 0, relative: 1.0e-6}
# free: a candidate chooses its launch; fixed: the baseline's launch is used.
launch: free
# The least work any kernel must do, for the floor: operations, and bytes moved with a cold cache.
work: {flops: "n", bytes: "8 * n"}
tags: [memory]
)";

constexpr char kOracle[] = R"(// The trusted reference: simple, and exact where that matters (accumulate in double).
// fsr: launch @_oracle grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void @_oracle(const float* input, float* output, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) output[i] = (float)((double)factor * input[i]);
}
)";

constexpr char kBaseline[] = R"(// The kernel to beat: written by a person, honest.
// fsr: launch @ grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void @(const float* input, float* output, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) output[i] = factor * input[i];
}
)";

constexpr char kTunable[] =
    R"(// Optional: a kernel with `tune` lines, which the generator without a model searches. The first value is the default.
// fsr: tune BLOCK = 256, 64, 128, 512, 1024
// fsr: tune ITEMS = 1, 2, 4, 8
// fsr: launch @ grid=(ceil_div(n, BLOCK * ITEMS)) block=(BLOCK)
extern "C" __global__ void @(const float* __restrict__ input, float* __restrict__ output, float factor, int n) {
  long long first = (long long)blockIdx.x * BLOCK * ITEMS + threadIdx.x;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    long long i = first + (long long)k * BLOCK;
    if (i < n) output[i] = factor * input[i];
  }
}
)";

std::string Named(std::string text, const std::string& name) {
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at)) text.replace(at, 1, name);
  return text;
}

absl::Status MakeTask(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  const bool first_ok = !name.empty() && name[0] >= 'a' && name[0] <= 'z';
  if (!first_ok || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' cannot be a task's name: use lower-case letters, digits and _, a letter first.", name));
  }
  std::error_code ignored;
  if (std::filesystem::exists(folder, ignored)) {
    return absl::AlreadyExistsError(
        fmt::format("{} is already there; choose another name or remove it.", folder.string()));
  }
  RETURN_IF_ERROR(WriteFileAtomically(folder / "task.yaml", Named(kTaskYaml, name)));
  RETURN_IF_ERROR(WriteFileAtomically(folder / "oracle.cu", Named(kOracle, name)));
  RETURN_IF_ERROR(WriteFileAtomically(folder / "baseline.cu", Named(kBaseline, name)));
  return WriteFileAtomically(folder / "tunable.cu", Named(kTunable, name));
}

}  // namespace

int TaskNewCommand(Session& session, const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  // "tasks/mine/" names the folder, too.
  const std::filesystem::path target = path.has_filename() ? path : path.parent_path();
  if (absl::Status made = MakeTask(target); !made.ok()) return ReportTrouble(made);
  if (session.json()) {
    v1::ListTasksResponse answer;
    answer.add_tasks()->set_name(target.filename().string());
    PrintJson(answer);
  } else {
    fmt::print("{} is a task that scales a vector: edit task.yaml and the .cu files, then `fsr task lint {}`.\n",
               target.string(), target.string());
  }
  return kExitOk;
}

}  // namespace fsr
