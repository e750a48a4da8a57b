// CompiledKernel as the message that goes between a worker and its children.
#pragma once

#include "fsr/v1/runner.pb.h"
#include "worker/device/device.h"

namespace fsr {

v1::CompiledModule ToProto(const CompiledKernel& kernel);
CompiledKernel FromProto(const v1::CompiledModule& module);

}  // namespace fsr
