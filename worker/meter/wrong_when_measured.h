// A kernel that was right when judged and is wrong when timed.
#pragma once

#include <vector>

#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/task.pb.h"
#include "worker/device/device.h"

namespace fsr {

// A MISMATCH whose message says where and how it differs, without what is held out.
LaunchReport::Failure WrongWhenMeasured(const v1::Task& task, const v1::Case& which,
                                        std::vector<v1::Mismatch> mismatches);

}  // namespace fsr
