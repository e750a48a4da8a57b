#include "worker/meter/wrong_when_measured.h"

#include <utility>

#include "common/task_loader.h"
#include "worker/judge/report.h"

namespace fsr {

LaunchReport::Failure WrongWhenMeasured(const v1::Task& task, const v1::Case& which,
                                        std::vector<v1::Mismatch> mismatches) {
  v1::CaseResult result;
  result.set_name(NameOf(which));
  result.set_held_out(which.held_out());
  result.set_outcome(v1::MISMATCH);
  for (v1::Mismatch& mismatch : mismatches) *result.add_mismatches() = std::move(mismatch);
  LaunchReport::Failure failure;
  failure.outcome = v1::MISMATCH;
  failure.fault.set_kind("wrong_when_measured");
  failure.fault.set_message("The kernel was right when judged and is wrong when measured, with other data. " +
                            DescribeFailure(task, result));
  return failure;
}

}  // namespace fsr
