// Estimates how long a launch takes from what it did. A ranking, not a time: always marked as estimated.
//
// The estimate is the launch overhead, plus the largest of the bounds in bounds.h, plus a small share of the others,
// since parts of a GPU never overlap fully: so that of two kernels with the same bottleneck the leaner one is faster.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fsr/v1/evaluation.pb.h"
#include "worker/device/sim/events.h"

namespace fsr::sim {

struct LaunchCost {
  double microseconds = 0;
  std::string limited_by;             // "memory", "l2", "l1", "issue", "shared", "latency", "atomics", "launch"
  std::vector<v1::Counter> counters;  // what a person or a prompt would want to see
  std::vector<std::string> hints;     // plain words, each with its figures
};

// Pure. `blocks` are the events of the blocks that ran (all of them, or a sample of `shape.grid_blocks`, which is then
// scaled up together with `touched`).
LaunchCost EstimateLaunch(const v1::DeviceFacts& device, const LaunchShape& shape, std::span<const BlockEvents> blocks,
                          const TouchedSectors& touched);

// Estimated time of a memset of `bytes`.
double EstimateFillMicroseconds(const v1::DeviceFacts& device, uint64_t bytes);

}  // namespace fsr::sim
