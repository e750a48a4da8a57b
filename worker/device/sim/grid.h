// One launch: its blocks over the machine's processors.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/device/sim/block.h"
#include "worker/device/sim/events.h"
#include "worker/device/sim/fault.h"

namespace fsr::sim {

struct GridOptions {
  Clock* clock = nullptr;
  absl::Time deadline;
  uint32_t thread_count = 1;
  uint64_t resident_blocks_max = 1;  // how many blocks the device holds at once
  bool estimate = false;
};

struct GridResult {
  std::optional<FaultNote> fault;
  std::vector<uint64_t> counts;  // thread-level executions by step
  // With `estimate`: of at most kBlocksSampledMax blocks, evenly spaced.
  std::vector<BlockEvents> blocks;
  TouchedSectors touched;
};

inline constexpr uint64_t kBlocksSampledMax = 4096;

// Blocks start in the order of their index. One that only goes round in a loop is put aside for others, up to
// `resident_blocks_max`: it may wait for a block that has not started, as cooperative launches do.
GridResult RunGrid(const LaunchContext& context, const GridOptions& options);

}  // namespace fsr::sim
