#include "worker/device/sim/cost_model.h"

#include <algorithm>

#include "worker/device/sim/bounds.h"
#include "worker/device/sim/cost_report.h"
#include "worker/device/sim/launch_totals.h"
#include "worker/device/sim/occupancy.h"

namespace fsr::sim {
namespace {

// Share of the time of the lesser bounds that is not hidden behind the largest one. Fitted, together with
// kDramAchievable, to what an H200 takes: a large copy at 4.3 TB/s, a 32 x 33 tiled transpose of 8192 x 8192 f32 in
// 151 us.
constexpr double kNotHidden = 0.1;
constexpr double kLaunchOverheadUsual = 3;  // microseconds, where the device does not say
// Below this share of what full bandwidth needs in flight, waiting is the trouble, not bandwidth.
constexpr double kInFlightEnough = 0.8;

double LaunchOverhead(const v1::DeviceFacts& device) {
  return device.launch_overhead_us() > 0 ? device.launch_overhead_us() : kLaunchOverheadUsual;
}

}  // namespace

LaunchCost EstimateLaunch(const v1::DeviceFacts& device, const LaunchShape& shape, std::span<const BlockEvents> blocks,
                          const TouchedSectors& touched) {
  const Occupancy occupancy = ComputeOccupancy(device, shape);
  const LaunchTotals totals = SumLaunch(device, shape, occupancy, blocks, touched);
  const Bounds bounds = ComputeBounds(device, occupancy, totals);

  double sum = 0;
  auto largest = Bound::kMemory;
  for (size_t i = 0; i < kBoundCount; ++i) {
    const auto bound = static_cast<Bound>(i);
    sum += bounds[bound];
    if (bounds[bound] > bounds[largest]) largest = bound;
  }
  const double overhead = LaunchOverhead(device);
  LaunchCost cost;
  cost.microseconds = overhead + bounds[largest] + kNotHidden * (sum - bounds[largest]);
  if (bounds[largest] < overhead) {
    cost.limited_by = "launch";
  } else if (largest == Bound::kMemory && bounds.bytes_in_flight_share < kInFlightEnough) {
    cost.limited_by = NameOf(Bound::kLatency);
  } else {
    cost.limited_by = NameOf(largest);
  }
  const CostView view{device, shape, occupancy, totals, bounds, cost.microseconds, cost.limited_by};
  cost.counters = CostCounters(view);
  cost.hints = CostHints(view);
  return cost;
}

double EstimateFillMicroseconds(const v1::DeviceFacts& device, uint64_t bytes) {
  const double bytes_per_us = std::max(device.memory_bandwidth_gb_per_s() * 1e3 * kDramAchievable, 1.0);
  return LaunchOverhead(device) + static_cast<double>(bytes) / bytes_per_us;
}

}  // namespace fsr::sim
