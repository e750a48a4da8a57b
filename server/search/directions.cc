#include "server/search/directions.h"

namespace fsr {
namespace {

struct Direction {
  const char* limited_by;   // "": whatever limits it
  uint32_t capability_min;  // 10 * major + minor of the compute capability; unknown devices get those with 0
  const char* text;
};

// In the order in which they are suggested.
constexpr Direction kDirections[] = {
    {"memory", 0, "wider accesses: load and store 16 bytes a thread (float4, int4) wherever alignment allows"},
    {"memory", 0, "coalescing: let neighbouring threads touch neighbouring addresses in every load and store"},
    {"memory", 0, "fewer bytes: read every input once, keep what is used again in registers or shared memory"},
    {"memory", 0, "more loads in flight: several independent loads a thread before their first use"},
    {"memory", 80, "asynchronous copies (cp.async) into shared memory, with two or more stages"},
    {"memory", 90, "bulk copies (TMA or cp.async.bulk) with an mbarrier instead of loads by threads"},
    {"l2", 0, "reuse within a block: larger tiles in shared memory, so that fewer bytes come from L2"},
    {"l2", 0, "the order of blocks: let blocks that share data run at the same time (swizzled block indexes)"},
    {"l1", 0, "register tiles: compute several outputs a thread, so that a value is loaded once for all of them"},
    {"l1", 0, "shuffles between the lanes of a warp instead of loads of what a neighbour has"},
    {"shared", 0, "bank conflicts: pad or swizzle the shared tile so that a warp's accesses hit 32 banks"},
    {"shared", 0, "wider shared accesses: 8 or 16 bytes a thread"},
    {"shared", 75, "ldmatrix, or shuffles, instead of scalar loads from shared memory"},
    {"compute", 75, "tensor cores (mma.sync), if the precision that the task asks for allows them"},
    {"compute", 90, "warp group instructions (wgmma) on operands in shared memory, if the precision allows them"},
    {"compute", 0, "instruction-level parallelism: several independent accumulators a thread"},
    {"compute", 0,
     "cheaper arithmetic: fused multiply-add, shifts for divisions by constants, factors moved out of loops"},
    {"issue", 0, "fewer instructions: unroll, hoist index arithmetic, use 32-bit indexes where sizes allow"},
    {"issue", 0, "vector types: one instruction for several elements"},
    {"issue", 0, "fewer branches: handle the ragged edge apart from the full tiles"},
    {"latency", 0, "more independent work a thread, so that waiting for one value overlaps with another"},
    {"latency", 0, "occupancy: fewer registers or less shared memory a block, so that more warps are resident"},
    {"latency", 0, "software pipelining: begin the next tile's loads before this tile's arithmetic"},
    {"latency", 0, "fewer barriers: work within a warp, with shuffles and __syncwarp, where a block is not needed"},
    {"atomics", 0, "private copies: accumulate in registers or shared memory, one global atomic a block at the end"},
    {"atomics", 0, "reduce within the warp (shuffles, __reduce_add_sync) before any atomic"},
    {"atomics", 0, "no atomics: a second launch that adds up the blocks' partial results from scratch memory"},
    {"launch", 0, "fewer launches: fuse what stands in several kernels"},
    {"launch", 0, "a smaller grid whose blocks loop over the work (grid stride)"},
    {"launch", 0,
     "less to do before and after the work: no fill that the kernel can spare, no scratch that it can spare"},
    {"", 0, "the launch: another block size and another number of elements a thread"},
    {"", 0, "balance: the same amount of work for every block, and a number of blocks that fills all multiprocessors"},
    {"", 0, "another algorithm or another mapping of work to threads than the code above has"},
    {"", 0, "the smallest change: find the slowest line and mend only that"},
    {"", 0, "loop structure: unroll by another factor, exchange loops, or split off the last partial step"},
};

}  // namespace

std::vector<std::string> DirectionsFor(const std::string& limited_by, const v1::DeviceFacts& device) {
  const uint32_t capability = 10 * device.compute_capability_major() + device.compute_capability_minor();
  std::vector<std::string> fitting, general;
  for (const Direction& direction : kDirections) {
    if (capability < direction.capability_min) continue;
    if (direction.limited_by[0] == '\0') {
      general.push_back(direction.text);
    } else if (limited_by == direction.limited_by) {
      fitting.push_back(direction.text);
    }
  }
  fitting.insert(fitting.end(), general.begin(), general.end());
  return fitting;
}

}  // namespace fsr
