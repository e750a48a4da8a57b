#include "worker/judge/output_check.h"

#include <algorithm>

#include "fmt/format.h"
#include "worker/judge/compare.h"
#include "worker/judge/pattern.h"

namespace fsr {
namespace {

// What wrong elements of buffer `output` may have been copied from.
std::vector<Suspect> SuspectsFor(const Bench& bench, size_t output, const std::vector<HostBuffer>* before) {
  std::vector<Suspect> suspects;
  const std::vector<ResolvedBuffer>& buffers = bench.buffers();
  if (before != nullptr) suspects.push_back({"the result of the run before", (*before)[output].bytes()});
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].role == v1::Parameter::OUTPUT || buffers[i].type != buffers[output].type ||
        buffers[i].element_count != buffers[output].element_count) {
      continue;
    }
    suspects.push_back({i == output ? "its own data before the launch" : fmt::format("the input {}", buffers[i].name),
                        bench.pristine(i).bytes()});
  }
  return suspects;
}

}  // namespace

absl::StatusOr<OutputCheck> CheckOutputs(const Bench& bench, const KernelRun& run,
                                         const std::vector<HostBuffer>& expected,
                                         const std::vector<HostBuffer>* before) {
  OutputCheck check;
  uint64_t compared = 0;
  const v1::Tolerance& tolerance = bench.task().tolerance();
  for (size_t i = 0; i < bench.buffers().size(); ++i) {
    const ResolvedBuffer& buffer = bench.buffers()[i];
    if (buffer.role == v1::Parameter::INPUT) continue;
    const ComparedBuffers pair{.type = buffer.type,
                               .got = run.outputs[i].bytes(),
                               .expected = expected[i].bytes(),
                               .poison = run.poison[i] ? &*run.poison[i] : nullptr};
    const BufferComparison comparison = CompareBuffers(pair, tolerance);
    compared += comparison.compared_count;
    check.largest_absolute_error = std::max(check.largest_absolute_error, comparison.largest_absolute_error);
    if (comparison.wrong.count() == 0) continue;
    v1::Mismatch mismatch = MismatchOf(comparison, pair, buffer.name, buffer.shape);
    mismatch.set_pattern(DescribePattern(pair, comparison, buffer.shape, tolerance, SuspectsFor(bench, i, before)));
    check.mismatches.push_back(std::move(mismatch));
  }
  if (compared == 0 && bench.HasOutput()) {
    return absl::InternalError(fmt::format("no element of task {} was compared", bench.task().name()));
  }
  return check;
}

}  // namespace fsr
