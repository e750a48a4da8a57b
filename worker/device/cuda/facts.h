// What a GPU is, asked of the driver.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "fsr/v1/evaluation.pb.h"
#include "worker/device/cuda/driver.h"

namespace fsr::cuda {

// UNAVAILABLE if there is no such device; the message says how many there are.
absl::StatusOr<v1::DeviceFacts> ReadFacts(const Driver& driver, int ordinal);

// "NVIDIA H200" -> "nvidia-h200": the kind that jobs ask for.
std::string KindOfName(const std::string& name);

// What is compiled for: with the `a` suffix where the generation has one, so that wgmma, TMA and tcgen05 work.
std::string ArchitectureOf(int major, int minor);

}  // namespace fsr::cuda
