// The `// fsr:` comment lines at the top of a candidate: what a host program would have done.
//
//   // fsr: tune TILE = 32, 16, 64                        the first value is the default; a -D macro in the source
//   // fsr: scratch partial f32[ceil_div(n, 256)]          temporary device memory
//   // fsr: fill output 0                                   every byte of the buffer is set to this (0..255), timed,
//   before the launches
//   // fsr: launch NAME grid=(…) block=(…) shared=… args=(…) cluster=(…) cooperative
//   // fsr: tensor_map tma_a = a dims=(k, m) box=(64, 128) swizzle=128B
//   // fsr: option --use_fast_math                          from kAllowedCompileOptions
//
// Parse says what is written; Resolve says what it means for one set of sizes. Both are pure. Their errors are the
// kernel's (a LAUNCH_ERROR outcome): INVALID_ARGUMENT, the message names the line.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/size_expression.h"
#include "fsr/v1/task.pb.h"

namespace fsr {

inline constexpr int kSourceBytesMax = 512 * 1024;
inline constexpr int kTunablesMax = 16;
inline constexpr int kTunableValuesMax = 64;
inline constexpr int kScratchBuffersMax = 16;
inline constexpr int kLaunchesMax = 32;
inline constexpr int kTensorMapsMax = 8;
inline constexpr int kFillsMax = 32;
inline constexpr int kOptionsMax = 16;
inline constexpr int kTensorMapRankMax = 5;
inline constexpr int kLaunchArgumentsMax = 64;
inline constexpr int kShapeRankMax = 8;
inline constexpr int64_t kBufferBytesMax = int64_t{32} << 30;

// What `option` accepts; an entry that ends in "=" takes a number, within kMaxRegistersMin and kMaxRegistersMax.
inline constexpr std::string_view kAllowedCompileOptions[] = {
    "--use_fast_math",  "--ftz=true",        "--ftz=false", "--prec-div=true", "--prec-div=false",
    "--prec-sqrt=true", "--prec-sqrt=false", "--fmad=true", "--fmad=false",    "--extra-device-vectorization",
    "--restrict",       "--std=c++17",       "--std=c++20", "--maxrregcount="};
inline constexpr int64_t kMaxRegistersMin = 16;
inline constexpr int64_t kMaxRegistersMax = 255;

struct Tunable {
  std::string name;
  std::vector<int64_t> values;  // at least one; the first is the default
  int line = 0;
};

struct ScratchBuffer {
  std::string name;
  v1::ElementType type = v1::F32;
  SizeExpression count;
  int line = 0;
};

struct Fill {
  std::string buffer;  // an OUTPUT or INOUT parameter, or a scratch buffer
  uint8_t byte = 0;
  int line = 0;
};

struct TensorMap {
  std::string name;
  std::string buffer;
  std::vector<SizeExpression> dims;  // innermost first, in elements
  std::vector<SizeExpression> box;
  std::string swizzle = "none";  // none, 32B, 64B, 128B
  int line = 0;
};

struct Launch {
  std::string kernel;  // a __global__ function's name; a template is written with its arguments, such as sum<256>
  std::vector<SizeExpression> grid, block;              // 1 to 3
  std::vector<SizeExpression> cluster;                  // empty: none
  SizeExpression shared = SizeExpression::Constant(0);  // dynamic shared memory in bytes
  bool cooperative = false;
  // Names of parameters, scratch buffers, tensor maps, or size expressions (passed as i32). Empty `args` and
  // args_given == false: all of the task's parameters in order.
  std::vector<std::string> args;
  bool args_given = false;
  int line = 0;
};

struct LaunchPlan {
  std::vector<Tunable> tunables;
  std::vector<ScratchBuffer> scratch;
  std::vector<Fill> fills;
  std::vector<Launch> launches;  // at least one
  std::vector<TensorMap> tensor_maps;
  std::vector<std::string> options;
};

// Reads all `// fsr:` lines of `source` and checks names against `task`. `fixed_launch_from`: for tasks with a FIXED
// launch, the baseline's plan, whose launches, scratch buffers and tensor maps are used, with its tunables at their
// defaults; a candidate's own launch, scratch or tensor_map lines are then errors unless they say the same. Fills and
// options stay the candidate's own. The error has a line for every malformed line.
absl::StatusOr<LaunchPlan> ParseLaunchPlan(std::string_view source, const v1::Task& task,
                                           const LaunchPlan* fixed_launch_from = nullptr);

// The same source with the given tunables pinned: each `tune` line keeps only the chosen value. INVALID_ARGUMENT if a
// name is not tunable in `source`, or the value is not one of those it lists.
absl::StatusOr<std::string> PinTunables(std::string_view source, const std::map<std::string, int64_t>& values);

// What the compiler must be told: tunables' defaults as "-DNAME=value", then the plan's options.
std::vector<std::string> CompileDefinitions(const LaunchPlan& plan);

// ---- Resolved for one set of sizes ----

struct ResolvedBuffer {
  std::string name;
  v1::ElementType type = v1::F32;
  std::vector<int64_t> shape;
  int64_t element_count = 0;
  int64_t bytes = 0;
  v1::Parameter::Role role = v1::Parameter::ROLE_UNSPECIFIED;  // ROLE_UNSPECIFIED: scratch
};

// One kernel argument.
struct ResolvedArgument {
  enum class Kind { kBuffer, kValue, kTensorMap };
  Kind kind = Kind::kValue;
  int index = 0;               // kBuffer: into ResolvedPlan::buffers; kTensorMap: into tensor_maps
  std::vector<uint8_t> bytes;  // kValue: the value as passed, little-endian
};

struct ResolvedTensorMap {
  std::string name;
  int buffer = 0;
  v1::ElementType type = v1::F32;
  std::vector<int64_t> dims, box;
  std::string swizzle;
};

struct ResolvedLaunch {
  std::string kernel;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t shared_bytes = 0;
  bool cooperative = false;
  std::vector<ResolvedArgument> arguments;
  int line = 0;
};

struct ResolvedFill {
  int buffer = 0;
  uint8_t byte = 0;
};

struct ResolvedPlan {
  std::vector<ResolvedBuffer> buffers;  // the task's buffer parameters in order, then scratch
  std::vector<ResolvedFill> fills;
  std::vector<ResolvedLaunch> launches;
  std::vector<ResolvedTensorMap> tensor_maps;
};

// The task's SIZE parameters by name. INVALID_ARGUMENT if `which` lacks one.
absl::StatusOr<SizeBindings> BindSizes(const v1::Task& task, const v1::Case& which);

// The task's buffer parameters in order, without scratch.
absl::StatusOr<std::vector<ResolvedBuffer>> ResolveParameters(const v1::Task& task, const v1::Case& which);

// Sizes and scalars come from `which`. Checks what holds on every device (grid and block at least 1 and within the
// architecture's limits, byte counts within kBufferBytesMax); the device checks the rest.
absl::StatusOr<ResolvedPlan> Resolve(const LaunchPlan& plan, const v1::Task& task, const v1::Case& which);

}  // namespace fsr
