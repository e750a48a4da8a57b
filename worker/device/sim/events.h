// What the interpreter tells the cost model: counts of one block, gathered while it runs. The interpreter knows no
// costs, the cost model no instructions: this header is the seam between them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace fsr::sim {

// Issue classes: which pipe a warp instruction occupies.
enum class Pipe : uint8_t {
  kAlu,      // integer, logic, compare, select, mov, bit operations
  kFma,      // f32 add, mul, fma
  kHalf,     // f16 and bf16 arithmetic, packed or not
  kDouble,   // f64
  kSpecial,  // sin, cos, ex2, lg2, rcp, rsqrt, sqrt
  kConvert,  // cvt between widths and kinds
  kGlobal,   // ld, st, atom, red on global or generic memory, local too
  kShared,   // ld, st, atom on shared memory
  kShuffle,  // shfl, vote, match, redux
  kBarrier,  // bar, barrier, membar
  kTensor,   // mma, wgmma
  kControl,  // branches, calls, exit
  kCount
};

// Counts of one block. A request is one warp-level access, already reduced to 32-byte sectors. The fields said to be 0
// where nobody counts them sharpen the estimate and its hints; the cost model assumes the usual without them.
struct BlockEvents {
  std::array<uint64_t, static_cast<int>(Pipe::kCount)> warp_instructions{};
  uint64_t thread_instructions = 0;  // active lanes summed over all warp instructions
  uint64_t divergent_branches = 0;
  // Global and local memory.
  uint64_t load_requests = 0, load_sectors = 0;  // sectors as requested, before any cache
  uint64_t store_requests = 0, store_sectors = 0;
  uint64_t load_lines = 0, store_lines = 0;  // distinct 128-byte lines per request, summed
  uint64_t atomic_requests = 0, atomic_sectors = 0;
  uint64_t atomic_same_address_max = 0;      // largest number of lanes on one address in one request, summed
  uint64_t load_bytes = 0, store_bytes = 0;  // that lanes asked for, repeats included; 0: not counted
  // Distance in bytes between the addresses of the first two active lanes of a request, summed; 0: not counted.
  uint64_t load_lane_distance = 0, store_lane_distance = 0;
  // Shared memory.
  uint64_t shared_requests = 0;
  uint64_t shared_wavefronts = 0;        // passes, those for bank conflicts included
  uint64_t shared_ideal_wavefronts = 0;  // passes that the width of the accesses alone needs; 0: one a request
  uint64_t shared_atomic_passes = 0;
  uint64_t barriers = 0;              // warp-level arrivals
  uint64_t tensor_multiply_adds = 0;  // of mma and wgmma; 0: those of m16n8k16 for each
  // The longest warp: instructions and global requests it issued one after another (a latency bound of the block).
  uint64_t longest_warp_instructions = 0;
  uint64_t longest_warp_global_requests = 0;
  uint64_t longest_warp_shared_requests = 0;
  uint64_t longest_warp_barriers = 0;
};

// Which 32-byte sectors of device memory the blocks that ran touched: what a cold cache must fetch or write back.
struct TouchedSectors {
  uint64_t read = 0;                      // distinct sectors loaded
  uint64_t written = 0;                   // distinct sectors stored
  uint64_t l1_filtered_load_sectors = 0;  // load sectors left after a per-block L1: repeats within a block counted once
  uint64_t atomic = 0;                    // distinct sectors that atomics touched; 0: not counted
};

struct LaunchShape {
  uint32_t grid_blocks = 1;
  uint32_t threads_per_block = 1;
  uint32_t registers_per_thread = 32;
  uint32_t shared_bytes_per_block = 0;
};

}  // namespace fsr::sim
