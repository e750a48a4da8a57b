// Events of well-known kernels, counted by hand.
#pragma once

#include <string_view>
#include <vector>

#include "worker/device/sim/cost_model.h"
#include "worker/device/sim/profiles.h"

namespace fsr::sim {

struct CountedLaunch {
  LaunchShape shape;
  std::vector<BlockEvents> blocks;
  TouchedSectors touched;
};

inline v1::DeviceFacts H200() { return FindProfile("h200").value(); }

inline LaunchCost Estimate(const CountedLaunch& launch, const v1::DeviceFacts& device = H200()) {
  return EstimateLaunch(device, launch.shape, launch.blocks, launch.touched);
}

inline uint64_t& Instructions(BlockEvents& block, Pipe pipe) {
  return block.warp_instructions[static_cast<size_t>(pipe)];
}

enum class TransposeTile { kNone, kConflicts, kPadded };

// Transpose of size x size f32 by blocks of 32 x 8 threads, four rows a thread: 8 warps with 4 loads and 4 stores each.
inline CountedLaunch Transpose(uint64_t size, TransposeTile tile) {
  CountedLaunch launch;
  const uint64_t tiles = size / 32 * (size / 32);
  launch.shape = {static_cast<uint32_t>(tiles), 256, 32, tile == TransposeTile::kNone ? 0u : 4224u};
  BlockEvents block;
  block.load_requests = block.store_requests = 32;
  block.load_sectors = 32 * 4;
  block.load_lines = 32;
  const bool scattered = tile == TransposeTile::kNone;
  block.store_sectors = scattered ? 32 * 32 : 32 * 4;
  block.store_lines = scattered ? 32 * 32 : 32;
  block.load_bytes = block.store_bytes = 32 * 128;
  block.load_lane_distance = 32 * 4;
  block.store_lane_distance = 32 * (scattered ? size * 4 : 4);
  Instructions(block, Pipe::kGlobal) = 64;
  Instructions(block, Pipe::kAlu) = 8 * 40;
  if (!scattered) {
    Instructions(block, Pipe::kShared) = 64;
    block.shared_requests = block.shared_ideal_wavefronts = 64;
    block.shared_wavefronts = 32 + 32 * (tile == TransposeTile::kConflicts ? 32 : 1);
    block.barriers = 8;
    block.longest_warp_shared_requests = 8;
    block.longest_warp_barriers = 1;
  }
  for (const uint64_t count : block.warp_instructions) block.thread_instructions += 32 * count;
  block.longest_warp_instructions = scattered ? 48 : 56;
  block.longest_warp_global_requests = 8;
  launch.blocks.assign(tiles, block);
  launch.touched.read = launch.touched.written = size * size / 8;
  launch.touched.l1_filtered_load_sectors = launch.touched.read;
  return launch;
}

// A copy of `bytes` in blocks of 256 threads, 16 bytes a thread.
inline CountedLaunch Copy(uint64_t bytes) {
  CountedLaunch launch;
  const uint64_t blocks = bytes / (256 * 16);
  launch.shape = {static_cast<uint32_t>(blocks), 256, 16, 0};
  BlockEvents block;
  block.load_requests = block.store_requests = 8;
  block.load_sectors = block.store_sectors = 8 * 16;
  block.load_lines = block.store_lines = 8 * 4;
  block.load_bytes = block.store_bytes = 8 * 512;
  block.load_lane_distance = block.store_lane_distance = 8 * 16;
  Instructions(block, Pipe::kGlobal) = 16;
  Instructions(block, Pipe::kAlu) = 8 * 10;
  block.thread_instructions = 96 * 32;
  block.longest_warp_instructions = 12;
  block.longest_warp_global_requests = 2;
  launch.blocks.assign(blocks, block);
  launch.touched.read = launch.touched.written = bytes / 32;
  launch.touched.l1_filtered_load_sectors = bytes / 32;
  return launch;
}

// `blocks` blocks of 256 threads that only multiply and add, `per_warp` times.
inline CountedLaunch Arithmetic(uint32_t blocks, uint64_t per_warp) {
  CountedLaunch launch;
  launch.shape = {blocks, 256, 32, 0};
  BlockEvents block;
  Instructions(block, Pipe::kFma) = 8 * per_warp;
  block.thread_instructions = 8 * per_warp * 32;
  block.longest_warp_instructions = per_warp;
  launch.blocks.assign(blocks, block);
  return launch;
}

}  // namespace fsr::sim
