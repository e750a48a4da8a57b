#include "worker/judge/task_buffers.h"

#include "common/element_type.h"
#include "common/size_expression.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace fsr {
namespace {

absl::StatusOr<ResolvedBuffer> ResolveBuffer(const v1::Parameter& parameter, const SizeBindings& sizes) {
  ResolvedBuffer buffer;
  buffer.name = parameter.name();
  buffer.type = parameter.type();
  buffer.role = parameter.role();
  const auto element_bytes = static_cast<int64_t>(SizeOf(parameter.type()));
  buffer.element_count = 1;
  for (const std::string& text : parameter.shape()) {
    ASSIGN_OR_RETURN(const SizeExpression expression, SizeExpression::Parse(text));
    ASSIGN_OR_RETURN(const int64_t extent, expression.Evaluate(sizes));
    if (extent < 0) return absl::InvalidArgumentError(fmt::format("extent {} = {} is negative", text, extent));
    buffer.shape.push_back(extent);
    if (__builtin_mul_overflow(buffer.element_count, extent, &buffer.element_count) ||
        buffer.element_count > kBufferBytesMax / element_bytes) {
      return absl::InvalidArgumentError(
          fmt::format("the shape [{}] needs more than {} bytes", fmt::join(parameter.shape(), ", "), kBufferBytesMax));
    }
  }
  buffer.bytes = buffer.element_count * element_bytes;
  return buffer;
}

}  // namespace

bool IsBuffer(const v1::Parameter& parameter) {
  return parameter.role() == v1::Parameter::INPUT || parameter.role() == v1::Parameter::OUTPUT ||
         parameter.role() == v1::Parameter::INOUT;
}

absl::StatusOr<std::vector<ResolvedBuffer>> TaskBuffers(const v1::Task& task, const v1::Case& which) {
  const SizeBindings sizes(which.sizes().begin(), which.sizes().end());
  std::vector<ResolvedBuffer> buffers;
  for (const v1::Parameter& parameter : task.parameters()) {
    if (!IsBuffer(parameter)) continue;
    auto buffer = ResolveBuffer(parameter, sizes);
    if (!buffer.ok()) return WithContext(fmt::format("parameter {}", parameter.name()), buffer.status());
    buffers.push_back(*std::move(buffer));
  }
  return buffers;
}

std::string DescribeBuffer(const ResolvedBuffer& buffer) {
  return fmt::format("{} {}[{}]", buffer.name, NameOf(buffer.type), fmt::join(buffer.shape, ", "));
}

}  // namespace fsr
