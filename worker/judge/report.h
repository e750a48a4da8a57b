// A case's result in complete sentences, for people and prompts.
#pragma once

#include <string>

#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/task.pb.h"

namespace fsr {

// What went wrong in `result`, with figures: where the outputs differ and how, or the fault. Of a held-out case only
// that it failed and how the outcome is called: neither sizes nor indices nor values. Empty if the case is right.
std::string DescribeFailure(const v1::Task& task, const v1::CaseResult& result);

}  // namespace fsr
