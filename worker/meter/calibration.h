// What a GPU does at best, measured once and kept in a file of this machine.
#pragma once

#include <filesystem>

#include "absl/status/status.h"
#include "worker/device/cuda/cuda_device.h"

namespace fsr {

// $XDG_CACHE_HOME/fsr, else ~/.cache/fsr.
std::filesystem::path CalibrationFolder();

// Sets measured_* and launch_overhead_us of the device's facts, from the file of this GPU and driver in `folder` or by
// ProbeDevice, which then writes it. A file that cannot be written only costs the next process the same half second.
absl::Status Calibrate(cuda::CudaDevice& device, const std::filesystem::path& folder);

}  // namespace fsr
