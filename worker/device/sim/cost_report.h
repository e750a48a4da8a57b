// What the cost model tells a person or a prompt: counters, and hints in plain words with their figures.
#pragma once

#include <string>
#include <vector>

#include "fsr/v1/evaluation.pb.h"
#include "worker/device/sim/bounds.h"
#include "worker/device/sim/launch_totals.h"
#include "worker/device/sim/occupancy.h"

namespace fsr::sim {

inline constexpr size_t kHintsMax = 6;

struct CostView {
  const v1::DeviceFacts& device;
  const LaunchShape& shape;
  const Occupancy& occupancy;
  const LaunchTotals& totals;
  const Bounds& bounds;
  double microseconds;
  std::string_view limited_by;
};

std::vector<v1::Counter> CostCounters(const CostView& view);

// The most telling first, at most kHintsMax.
std::vector<std::string> CostHints(const CostView& view);

}  // namespace fsr::sim
