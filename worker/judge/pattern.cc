#include "worker/judge/pattern.h"

#include "fmt/format.h"

namespace fsr {

std::string DescribePattern(const ComparedBuffers& buffers, const BufferComparison& comparison,
                            std::span<const int64_t> shape, const v1::Tolerance& tolerance,
                            std::span<const Suspect> suspects) {
  const std::string where = DescribeWhere(comparison.wrong, shape);
  const std::string what = DescribeWhat(buffers, comparison, shape, tolerance, suspects);
  if (where.empty() || what.empty()) return where + what;
  return fmt::format("{}; {}", where, what);
}

}  // namespace fsr
