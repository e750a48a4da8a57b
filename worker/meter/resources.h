// What a kernel takes of the device, as compiled and as launched.
#pragma once

#include <vector>

#include "common/launch_plan.h"
#include "fsr/v1/evaluation.pb.h"
#include "worker/device/device.h"

namespace fsr {

// An entry for each different launch of `plan`, in order, with what the compiler reports of its kernel.
std::vector<v1::Resources> ResourcesOf(const CompiledKernel& compiled, const ResolvedPlan& plan);

}  // namespace fsr
