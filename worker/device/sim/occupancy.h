// How many blocks of a kernel one SM holds at a time, and what keeps it from holding more.
#pragma once

#include <cstdint>
#include <string>

#include "fsr/v1/evaluation.pb.h"
#include "worker/device/sim/events.h"

namespace fsr::sim {

struct Occupancy {
  uint32_t blocks_per_sm = 0;  // 0: a block does not fit at all
  uint32_t warps_per_block = 0;
  uint32_t warps_per_sm = 0;
  uint32_t warps_per_sm_max = 0;
  double fraction = 0;     // warps_per_sm / warps_per_sm_max
  std::string limited_by;  // "threads", "registers", "shared memory", "blocks": what allows the fewest
};

// The rules of the CUDA occupancy calculator (cuda_occupancy.h).
Occupancy ComputeOccupancy(const v1::DeviceFacts& device, const LaunchShape& shape);

}  // namespace fsr::sim
