#include <algorithm>
#include <limits>
#include <optional>

#include "common/argument_value.h"
#include "common/element_type.h"
#include "common/launch_plan.h"
#include "common/launch_plan_parts.h"
#include "common/quote.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"

namespace fsr {
namespace {

// What every NVIDIA device since compute capability 3.0 allows.
constexpr std::array<int64_t, 3> kGridMax = {2147483647, 65535, 65535};
constexpr std::array<int64_t, 3> kBlockMax = {1024, 1024, 64};
constexpr int64_t kThreadsPerBlockMax = 1024;
constexpr int64_t kClusterBlocksMax = 16;  // with the non-portable sizes, which the device opts into
constexpr int64_t kSharedBytesMax = std::numeric_limits<int32_t>::max();
// Limits of cuTensorMapEncodeTiled.
constexpr int64_t kTensorMapExtentMax = int64_t{1} << 32;
constexpr int64_t kTensorMapBoxMax = 256;
constexpr int64_t kTensorMapAlignment = 16;

absl::StatusOr<ResolvedBuffer> ResolveBuffer(const std::string& name, v1::ElementType type, v1::Parameter::Role role,
                                             std::vector<int64_t> shape) {
  ResolvedBuffer buffer{.name = name, .type = type, .shape = std::move(shape), .role = role};
  buffer.element_count = 1;
  for (int64_t extent : buffer.shape) {
    if (extent < 0) return absl::InvalidArgumentError(fmt::format("{} has the negative extent {}", name, extent));
    if (__builtin_mul_overflow(buffer.element_count, extent, &buffer.element_count)) {
      return absl::InvalidArgumentError(fmt::format("the number of elements of {} does not fit in 64 bits", name));
    }
  }
  if (__builtin_mul_overflow(buffer.element_count, static_cast<int64_t>(SizeOf(type)), &buffer.bytes) ||
      buffer.bytes > kBufferBytesMax) {
    return absl::InvalidArgumentError(fmt::format("{} has {} elements of {}, more than the {} bytes allowed", name,
                                                  buffer.element_count, NameOf(type), kBufferBytesMax));
  }
  return buffer;
}

// Resolves one plan for one case.
class Resolver {
 public:
  Resolver(const LaunchPlan& plan, const v1::Task& task, const v1::Case& which)
      : plan_(plan), task_(task), case_(which) {}

  absl::StatusOr<ResolvedPlan> Run() && {
    ASSIGN_OR_RETURN(bindings_, BindSizes(task_, case_));
    for (const Tunable& tunable : plan_.tunables) bindings_[tunable.name] = tunable.values.front();
    ASSIGN_OR_RETURN(resolved_.buffers, ResolveParameters(task_, case_));
    for (const ScratchBuffer& scratch : plan_.scratch) {
      RETURN_IF_ERROR(At(scratch.line, "scratch", AddScratch(scratch)));
    }
    for (const Fill& fill : plan_.fills) RETURN_IF_ERROR(At(fill.line, "fill", AddFill(fill)));
    for (const TensorMap& map : plan_.tensor_maps) RETURN_IF_ERROR(At(map.line, "tensor_map", AddTensorMap(map)));
    for (const Launch& launch : plan_.launches) RETURN_IF_ERROR(At(launch.line, "launch", AddLaunch(launch)));
    return std::move(resolved_);
  }

 private:
  static absl::Status At(int line, std::string_view directive, const absl::Status& status) {
    return WithContext(fmt::format("{}: {}", LineName(line), directive), status);
  }

  // `expression`'s value, which must be from `least` to `most`.
  absl::StatusOr<int64_t> Evaluate(const SizeExpression& expression, std::string_view what, int64_t least,
                                   int64_t most) const {
    const absl::StatusOr<int64_t> value = expression.Evaluate(bindings_);
    if (!value.ok()) return WithContext(what, value.status());
    if (*value >= least && *value <= most) return *value;
    return absl::InvalidArgumentError(fmt::format("{} is {}, from {}; it must be from {} to {}", what, *value,
                                                  Quoted(expression.text()), least, most));
  }

  absl::Status AddScratch(const ScratchBuffer& scratch) {
    ASSIGN_OR_RETURN(const int64_t count,
                     Evaluate(scratch.count, scratch.name, 0, std::numeric_limits<int64_t>::max()));
    ASSIGN_OR_RETURN(ResolvedBuffer buffer,
                     ResolveBuffer(scratch.name, scratch.type, v1::Parameter::ROLE_UNSPECIFIED, {count}));
    resolved_.buffers.push_back(std::move(buffer));
    return absl::OkStatus();
  }

  absl::Status AddFill(const Fill& fill) {
    const std::optional<int> buffer = BufferIndex(fill.buffer);
    if (!buffer) return absl::InvalidArgumentError(fmt::format("{} is no buffer", fill.buffer));
    resolved_.fills.push_back({.buffer = *buffer, .byte = fill.byte});
    return absl::OkStatus();
  }

  absl::Status AddTensorMap(const TensorMap& map) {
    const std::optional<int> index = BufferIndex(map.buffer);
    if (!index) return absl::InvalidArgumentError(fmt::format("{} is no buffer", map.buffer));
    const ResolvedBuffer& buffer = resolved_.buffers[static_cast<size_t>(*index)];
    ResolvedTensorMap result{
        .name = map.name, .buffer = *index, .type = buffer.type, .dims = {}, .box = {}, .swizzle = map.swizzle};
    for (size_t i = 0; i < map.dims.size(); ++i) {
      ASSIGN_OR_RETURN(const int64_t extent, Evaluate(map.dims[i], fmt::format("dims[{}]", i), 1, kTensorMapExtentMax));
      ASSIGN_OR_RETURN(const int64_t box, Evaluate(map.box[i], fmt::format("box[{}]", i), 1, kTensorMapBoxMax));
      result.dims.push_back(extent);
      result.box.push_back(box);
    }
    RETURN_IF_ERROR(CheckTensorMap(result, buffer));
    resolved_.tensor_maps.push_back(std::move(result));
    return absl::OkStatus();
  }

  static absl::Status CheckTensorMap(const ResolvedTensorMap& map, const ResolvedBuffer& buffer) {
    int64_t count = 1;
    for (int64_t extent : map.dims) {
      if (__builtin_mul_overflow(count, extent, &count) || count > buffer.element_count) {
        return absl::InvalidArgumentError(
            fmt::format("dims cover more than the {} elements of {}", buffer.element_count, buffer.name));
      }
    }
    const auto element_bytes = static_cast<int64_t>(SizeOf(map.type));
    int64_t stride_bytes = element_bytes;
    for (size_t i = 0; i + 1 < map.dims.size(); ++i) {
      stride_bytes *= map.dims[i];
      if (stride_bytes % kTensorMapAlignment == 0) continue;
      return absl::InvalidArgumentError(fmt::format("the stride of dims[{}] is {} bytes; it must be a multiple of {}",
                                                    i + 1, stride_bytes, kTensorMapAlignment));
    }
    const int64_t row_bytes = map.box[0] * element_bytes;
    if (row_bytes % kTensorMapAlignment != 0) {
      return absl::InvalidArgumentError(
          fmt::format("box[0] has {} bytes; it must have a multiple of {}", row_bytes, kTensorMapAlignment));
    }
    const int64_t row_bytes_max = map.swizzle == "32B"    ? 32
                                  : map.swizzle == "64B"  ? 64
                                  : map.swizzle == "128B" ? 128
                                                          : 0;
    if (row_bytes_max != 0 && row_bytes > row_bytes_max) {
      return absl::InvalidArgumentError(
          fmt::format("box[0] has {} bytes, more than swizzle={} can take", row_bytes, map.swizzle));
    }
    return absl::OkStatus();
  }

  absl::Status AddLaunch(const Launch& launch) {
    ResolvedLaunch result;
    result.kernel = launch.kernel;
    result.line = launch.line;
    result.cooperative = launch.cooperative;
    ASSIGN_OR_RETURN(result.grid, Dimensions(launch.grid, "grid", kGridMax));
    ASSIGN_OR_RETURN(result.block, Dimensions(launch.block, "block", kBlockMax));
    RETURN_IF_ERROR(CheckProduct(result.block, "block", "threads", kThreadsPerBlockMax));
    ASSIGN_OR_RETURN(result.cluster,
                     Dimensions(launch.cluster, "cluster", {kClusterBlocksMax, kClusterBlocksMax, kClusterBlocksMax}));
    RETURN_IF_ERROR(CheckProduct(result.cluster, "cluster", "blocks", kClusterBlocksMax));
    for (size_t i = 0; i < 3; ++i) {
      if (result.grid[i] % result.cluster[i] == 0) continue;
      return absl::InvalidArgumentError(fmt::format("grid.{0} is {1}, no multiple of cluster.{0}, which is {2}",
                                                    "xyz"[i], result.grid[i], result.cluster[i]));
    }
    ASSIGN_OR_RETURN(const int64_t shared, Evaluate(launch.shared, "shared", 0, kSharedBytesMax));
    result.shared_bytes = static_cast<uint32_t>(shared);
    ASSIGN_OR_RETURN(result.arguments, Arguments(launch));
    resolved_.launches.push_back(std::move(result));
    return absl::OkStatus();
  }

  absl::StatusOr<std::array<uint32_t, 3>> Dimensions(const std::vector<SizeExpression>& expressions,
                                                     std::string_view what, const std::array<int64_t, 3>& most) const {
    std::array<uint32_t, 3> dimensions{1, 1, 1};
    for (size_t i = 0; i < expressions.size() && i < 3; ++i) {
      ASSIGN_OR_RETURN(const int64_t value, Evaluate(expressions[i], fmt::format("{}.{}", what, "xyz"[i]), 1, most[i]));
      dimensions[i] = static_cast<uint32_t>(value);
    }
    return dimensions;
  }

  // The factors are within limits that keep the product from overflowing.
  static absl::Status CheckProduct(const std::array<uint32_t, 3>& dimensions, std::string_view what,
                                   std::string_view units, int64_t most) {
    const int64_t product = int64_t{dimensions[0]} * dimensions[1] * dimensions[2];
    if (product <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("{} has {} {}, more than the {} allowed", what, product, units, most));
  }

  absl::StatusOr<std::vector<ResolvedArgument>> Arguments(const Launch& launch) const {
    std::vector<std::string> names = launch.args;
    if (!launch.args_given) {
      for (const v1::Parameter& parameter : task_.parameters()) names.push_back(parameter.name());
    }
    std::vector<ResolvedArgument> arguments;
    for (const std::string& name : names) {
      absl::StatusOr<ResolvedArgument> argument = Argument(name);
      if (!argument.ok()) return WithContext(fmt::format("argument {}", name), argument.status());
      arguments.push_back(*std::move(argument));
    }
    return arguments;
  }

  absl::StatusOr<ResolvedArgument> Argument(const std::string& name) const {
    using Kind = ResolvedArgument::Kind;
    if (const std::optional<int> buffer = BufferIndex(name)) {
      return ResolvedArgument{.kind = Kind::kBuffer, .index = *buffer, .bytes = {}};
    }
    for (size_t i = 0; i < resolved_.tensor_maps.size(); ++i) {
      if (resolved_.tensor_maps[i].name != name) continue;
      return ResolvedArgument{.kind = Kind::kTensorMap, .index = static_cast<int>(i), .bytes = {}};
    }
    ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, Value(name));
    return ResolvedArgument{.kind = Kind::kValue, .index = 0, .bytes = std::move(bytes)};
  }

  absl::StatusOr<std::vector<uint8_t>> Value(const std::string& text) const {
    for (const v1::Parameter& parameter : task_.parameters()) {
      if (parameter.name() != text) continue;
      if (parameter.role() == v1::Parameter::SIZE) return IntegerArgument(parameter.type(), bindings_.at(text));
      const auto scalar = case_.scalars().find(text);
      if (scalar != case_.scalars().end()) return ScalarArgument(parameter.type(), scalar->second);
      return absl::InvalidArgumentError("the case gives no value for this scalar");
    }
    ASSIGN_OR_RETURN(const SizeExpression expression, SizeExpression::Parse(text));
    ASSIGN_OR_RETURN(const int64_t value, expression.Evaluate(bindings_));
    return IntegerArgument(v1::I32, value);
  }

  std::optional<int> BufferIndex(std::string_view name) const {
    for (size_t i = 0; i < resolved_.buffers.size(); ++i) {
      if (resolved_.buffers[i].name == name) return static_cast<int>(i);
    }
    return std::nullopt;
  }

  const LaunchPlan& plan_;
  const v1::Task& task_;
  const v1::Case& case_;
  SizeBindings bindings_;
  ResolvedPlan resolved_;
};

}  // namespace

absl::StatusOr<SizeBindings> BindSizes(const v1::Task& task, const v1::Case& which) {
  SizeBindings bindings;
  for (const v1::Parameter& parameter : task.parameters()) {
    if (parameter.role() != v1::Parameter::SIZE) continue;
    const auto size = which.sizes().find(parameter.name());
    if (size == which.sizes().end()) {
      return absl::InvalidArgumentError(fmt::format("the case gives no value for the size {}", parameter.name()));
    }
    bindings[parameter.name()] = size->second;
  }
  return bindings;
}

absl::StatusOr<std::vector<ResolvedBuffer>> ResolveParameters(const v1::Task& task, const v1::Case& which) {
  ASSIGN_OR_RETURN(const SizeBindings bindings, BindSizes(task, which));
  std::vector<ResolvedBuffer> buffers;
  for (const v1::Parameter& parameter : task.parameters()) {
    if (parameter.role() == v1::Parameter::SIZE || parameter.role() == v1::Parameter::SCALAR) continue;
    std::vector<int64_t> shape;
    for (const std::string& text : parameter.shape()) {
      const absl::StatusOr<SizeExpression> expression = SizeExpression::Parse(text);
      const absl::StatusOr<int64_t> extent =
          expression.ok() ? expression->Evaluate(bindings) : absl::StatusOr<int64_t>(expression.status());
      if (!extent.ok()) return WithContext(fmt::format("the shape of {}", parameter.name()), extent.status());
      shape.push_back(*extent);
    }
    ASSIGN_OR_RETURN(ResolvedBuffer buffer,
                     ResolveBuffer(parameter.name(), parameter.type(), parameter.role(), std::move(shape)));
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

absl::StatusOr<ResolvedPlan> Resolve(const LaunchPlan& plan, const v1::Task& task, const v1::Case& which) {
  return Resolver(plan, task, which).Run();
}

}  // namespace fsr
