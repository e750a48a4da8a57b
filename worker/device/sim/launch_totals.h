// The events of all blocks of a launch, as sums and averages that the bounds are made of.
#pragma once

#include <array>
#include <span>

#include "worker/device/sim/architecture.h"
#include "worker/device/sim/events.h"
#include "worker/device/sim/occupancy.h"

namespace fsr::sim {

// Counts of the whole grid. Doubles: a sample of the blocks is scaled up.
struct LaunchTotals {
  double blocks = 1;
  std::array<double, kPipeCount> warp_instructions{};
  double all_warp_instructions = 0, thread_instructions = 0;
  double load_requests = 0, load_sectors = 0, load_lines = 0, load_bytes = 0, load_lane_distance = 0;
  double store_requests = 0, store_sectors = 0, store_lines = 0, store_bytes = 0, store_lane_distance = 0;
  double atomic_requests = 0, atomic_sectors = 0, atomic_same_address = 0;
  double shared_requests = 0, shared_wavefronts = 0, shared_ideal_wavefronts = 0, shared_atomic_passes = 0;
  double tensor_multiply_adds = 0;
  double l2_load_sectors = 0;  // what the L1 caches let through
  double read_sectors = 0, written_sectors = 0, atomic_distinct_sectors = 0;
  // Of the block with the longest warp.
  double longest_instructions = 0, longest_global = 0, longest_shared = 0, longest_barriers = 0;

  // How the blocks fall on the SMs.
  double busiest_sm_share = 1;  // share of all work that the busiest SM does
  double busy_sms = 1;          // SMs with a block at all
  double resident_blocks = 1;   // on the whole GPU at a time
  double waves = 1;             // blocks / resident_blocks
};

LaunchTotals SumLaunch(const v1::DeviceFacts& device, const LaunchShape& shape, const Occupancy& occupancy,
                       std::span<const BlockEvents> blocks, const TouchedSectors& touched);

}  // namespace fsr::sim
