#include "worker/device/sim/launch_totals.h"

#include <algorithm>
#include <cmath>

namespace fsr::sim {
namespace {

constexpr double kMultiplyAddsOfUsualMma = 16 * 8 * 16;

double AllInstructions(const BlockEvents& block) {
  double sum = 0;
  for (const uint64_t count : block.warp_instructions) sum += static_cast<double>(count);
  return sum;
}

void AddBlock(const BlockEvents& block, double scale, LaunchTotals& totals) {
  const auto add = [scale](double& sum, uint64_t count) { sum += static_cast<double>(count) * scale; };
  for (size_t pipe = 0; pipe < block.warp_instructions.size(); ++pipe) {
    add(totals.warp_instructions[pipe], block.warp_instructions[pipe]);
  }
  totals.all_warp_instructions += AllInstructions(block) * scale;
  add(totals.thread_instructions, block.thread_instructions);
  add(totals.load_requests, block.load_requests);
  add(totals.load_sectors, block.load_sectors);
  add(totals.load_lines, block.load_lines);
  add(totals.load_bytes, block.load_bytes);
  add(totals.load_lane_distance, block.load_lane_distance);
  add(totals.store_requests, block.store_requests);
  add(totals.store_sectors, block.store_sectors);
  add(totals.store_lines, block.store_lines);
  add(totals.store_bytes, block.store_bytes);
  add(totals.store_lane_distance, block.store_lane_distance);
  add(totals.atomic_requests, block.atomic_requests);
  add(totals.atomic_sectors, block.atomic_sectors);
  add(totals.atomic_same_address, block.atomic_same_address_max);
  add(totals.shared_requests, block.shared_requests);
  add(totals.shared_wavefronts, block.shared_wavefronts);
  add(totals.shared_ideal_wavefronts, block.shared_ideal_wavefronts);
  add(totals.shared_atomic_passes, block.shared_atomic_passes);
  add(totals.tensor_multiply_adds, block.tensor_multiply_adds);
  if (static_cast<double>(block.longest_warp_instructions) >= totals.longest_instructions) {
    totals.longest_instructions = static_cast<double>(block.longest_warp_instructions);
    totals.longest_global = static_cast<double>(block.longest_warp_global_requests);
    totals.longest_shared = static_cast<double>(block.longest_warp_shared_requests);
    totals.longest_barriers = static_cast<double>(block.longest_warp_barriers);
  }
}

void PlaceBlocks(const v1::DeviceFacts& device, const Occupancy& occupancy, double heaviest_share,
                 LaunchTotals& totals) {
  const double sms = std::max(device.sm_count(), 1u);
  const double per_sm = std::max(occupancy.blocks_per_sm, 1u);
  totals.busy_sms = std::min(sms, totals.blocks);
  totals.resident_blocks = std::min(sms * per_sm, totals.blocks);
  totals.waves = totals.blocks / (sms * per_sm);
  totals.busiest_sm_share = std::max(std::ceil(totals.blocks / sms) / totals.blocks, heaviest_share);
}

}  // namespace

LaunchTotals SumLaunch(const v1::DeviceFacts& device, const LaunchShape& shape, const Occupancy& occupancy,
                       std::span<const BlockEvents> blocks, const TouchedSectors& touched) {
  LaunchTotals totals;
  totals.blocks = std::max(shape.grid_blocks, 1u);
  const double scale = blocks.empty() ? 1 : totals.blocks / static_cast<double>(blocks.size());
  double heaviest = 0;
  for (const BlockEvents& block : blocks) {
    AddBlock(block, scale, totals);
    heaviest = std::max(heaviest, AllInstructions(block));
  }
  totals.shared_ideal_wavefronts = std::max(totals.shared_ideal_wavefronts, totals.shared_requests);
  if (totals.tensor_multiply_adds == 0) {
    totals.tensor_multiply_adds =
        totals.warp_instructions[static_cast<size_t>(Pipe::kTensor)] * kMultiplyAddsOfUsualMma;
  }
  totals.read_sectors = static_cast<double>(touched.read) * scale;
  totals.written_sectors = static_cast<double>(touched.written) * scale;
  totals.atomic_distinct_sectors = static_cast<double>(touched.atomic) * scale;
  // Whatever was counted, L2 serves at least what was touched and at most what was asked for.
  totals.l2_load_sectors = std::clamp(static_cast<double>(touched.l1_filtered_load_sectors) * scale,
                                      std::min(totals.read_sectors, totals.load_sectors), totals.load_sectors);
  const double heaviest_share = totals.all_warp_instructions > 0 ? heaviest / totals.all_warp_instructions : 0;
  PlaceBlocks(device, occupancy, heaviest_share, totals);
  return totals;
}

}  // namespace fsr::sim
