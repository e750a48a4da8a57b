// Runs one instruction on all inputs of a sweep on any device, and keeps what came out in a compact form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/gpu/approximations.h"
#include "worker/device/device.h"

namespace fsr {

// By input. UNIMPLEMENTED if the device cannot load the instruction; INTERNAL if the kernel breaks.
absl::StatusOr<std::vector<uint64_t>> RunSweep(Device& device, const Approximation& approximation, const Sweep& sweep);

// For each input the steps from the nearest result to the given one, as zigzag LEB128: a byte where the instruction is
// good, and one or two bits after gzip. Zeros lose their sign and NaN their payload. REQUIRES: no pairs of halves.
std::string EncodeCapture(const Approximation& approximation, const Sweep& sweep, const std::vector<uint64_t>& results);
// DATA_LOSS if `capture` does not hold as many numbers as the sweep has inputs.
absl::StatusOr<std::vector<uint64_t>> DecodeCapture(const Approximation& approximation, const Sweep& sweep,
                                                    const std::string& capture);

}  // namespace fsr
