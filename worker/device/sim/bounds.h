// The shortest times that each part of the GPU allows a launch, each as if the others were free.
#pragma once

#include <array>
#include <string_view>

#include "fsr/v1/evaluation.pb.h"
#include "worker/device/sim/launch_totals.h"
#include "worker/device/sim/occupancy.h"

namespace fsr::sim {

enum class Bound : uint8_t {
  kMemory,   // bytes between DRAM and L2, at the bandwidth a copy reaches or that the bytes in flight sustain
  kL2,       // sectors between L2 and the SMs
  kL1,       // lines looked up and sectors moved by the L1 cache of an SM
  kIssue,    // instructions through the schedulers and the busiest pipe of an SM
  kShared,   // passes over the banks of shared memory
  kAtomics,  // operations on one address, one after another
  kLatency,  // the longest warp of a block, for as many rounds as the blocks need
  kCount
};
inline constexpr size_t kBoundCount = static_cast<size_t>(Bound::kCount);

// "memory", "l2", …
std::string_view NameOf(Bound bound);

struct Bounds {
  std::array<double, kBoundCount> microseconds{};
  double dram_bytes = 0;
  double l2_bytes = 0;               // between L2 and the SMs
  double bytes_in_flight_share = 1;  // of what full DRAM bandwidth needs; 1 if there are enough
  double operator[](Bound bound) const { return microseconds[static_cast<size_t>(bound)]; }
};

// Share of the data sheet's DRAM bandwidth that a large copy reaches: 0.9 on an H200 (4.3 of 4.8 TB/s), of which the
// other bounds' shares take a part.
inline constexpr double kDramAchievable = 0.93;

Bounds ComputeBounds(const v1::DeviceFacts& device, const Occupancy& occupancy, const LaunchTotals& totals);

}  // namespace fsr::sim
