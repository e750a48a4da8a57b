#include "worker/device/sim/special_registers.h"

#include <algorithm>
#include <iterator>

namespace fsr::sim {
namespace {

struct NamedRegister {
  std::string_view name;
  SpecialRegister which;
};

using enum SpecialRegister;

constexpr NamedRegister kNames[] = {
    {"%tid.x", kTidX},
    {"%tid.y", kTidY},
    {"%tid.z", kTidZ},
    {"%ntid.x", kNtidX},
    {"%ntid.y", kNtidY},
    {"%ntid.z", kNtidZ},
    {"%ctaid.x", kCtaidX},
    {"%ctaid.y", kCtaidY},
    {"%ctaid.z", kCtaidZ},
    {"%nctaid.x", kNctaidX},
    {"%nctaid.y", kNctaidY},
    {"%nctaid.z", kNctaidZ},
    {"%laneid", kLaneId},
    {"%warpid", kWarpId},
    {"%nwarpid", kNwarpId},
    {"%smid", kSmId},
    {"%nsmid", kNsmId},
    {"%gridid", kZero},
    {"%lanemask_eq", kLaneMaskEq},
    {"%lanemask_le", kLaneMaskLe},
    {"%lanemask_lt", kLaneMaskLt},
    {"%lanemask_ge", kLaneMaskGe},
    {"%lanemask_gt", kLaneMaskGt},
    {"%dynamic_smem_size", kDynamicSharedBytes},
    {"%total_smem_size", kTotalSharedBytes},
    {"%aggr_smem_size", kTotalSharedBytes},
    {"%envreg1", kGridWorkspaceHigh},
    {"%envreg2", kGridWorkspaceLow},
    {"%clusterid.x", kCtaidX},
    {"%clusterid.y", kCtaidY},
    {"%clusterid.z", kCtaidZ},
    {"%nclusterid.x", kNctaidX},
    {"%nclusterid.y", kNctaidY},
    {"%nclusterid.z", kNctaidZ},
    {"%cluster_ctaid.x", kZero},
    {"%cluster_ctaid.y", kZero},
    {"%cluster_ctaid.z", kZero},
    {"%cluster_nctaid.x", kOne},
    {"%cluster_nctaid.y", kOne},
    {"%cluster_nctaid.z", kOne},
    {"%cluster_ctarank", kZero},
    {"%cluster_nctarank", kOne},
    {"%is_explicit_cluster", kZero},
    {"%reserved_smem_offset_begin", kZero},
    {"%reserved_smem_offset_end", kZero},
};

Lanes Everywhere(uint64_t value) {
  Lanes lanes;
  lanes.lane.fill(value);
  return lanes;
}

// The three parts of a thread's index, from its number in the block.
Lanes ThreadIndex(int dimension, const SpecialContext& context) {
  Lanes lanes;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const uint32_t number = context.warp_index * kWarpSize + lane;
    const uint32_t plane = context.block[0] * context.block[1];
    const std::array<uint32_t, 3> index = {number % context.block[0], number / context.block[0] % context.block[1],
                                           number / plane};
    lanes.lane[lane] = index[static_cast<size_t>(dimension)];
  }
  return lanes;
}

Lanes LaneMasks(SpecialRegister which) {
  Lanes lanes;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const uint32_t equal = 1u << lane;
    const uint32_t less = equal - 1;
    switch (which) {
      case kLaneMaskEq:
        lanes.lane[lane] = equal;
        break;
      case kLaneMaskLe:
        lanes.lane[lane] = less | equal;
        break;
      case kLaneMaskLt:
        lanes.lane[lane] = less;
        break;
      case kLaneMaskGe:
        lanes.lane[lane] = ~less;
        break;
      default:
        lanes.lane[lane] = ~(less | equal);
        break;
    }
    lanes.lane[lane] &= kFullMask;
  }
  return lanes;
}

}  // namespace

std::optional<SpecialRegister> FindSpecialRegister(std::string_view name) {
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& n) { return n.name == name; });
  if (found == std::end(kNames)) return std::nullopt;
  return found->which;
}

Lanes SpecialRegisterLanes(SpecialRegister which, const SpecialContext& context) {
  switch (which) {
    case kTidX:
      return ThreadIndex(0, context);
    case kTidY:
      return ThreadIndex(1, context);
    case kTidZ:
      return ThreadIndex(2, context);
    case kNtidX:
      return Everywhere(context.block[0]);
    case kNtidY:
      return Everywhere(context.block[1]);
    case kNtidZ:
      return Everywhere(context.block[2]);
    case kCtaidX:
      return Everywhere(context.block_index[0]);
    case kCtaidY:
      return Everywhere(context.block_index[1]);
    case kCtaidZ:
      return Everywhere(context.block_index[2]);
    case kNctaidX:
      return Everywhere(context.grid[0]);
    case kNctaidY:
      return Everywhere(context.grid[1]);
    case kNctaidZ:
      return Everywhere(context.grid[2]);
    case kLaneId: {
      Lanes lanes;
      for (uint32_t lane = 0; lane < kWarpSize; ++lane) lanes.lane[lane] = lane;
      return lanes;
    }
    case kWarpId:
      return Everywhere(context.warp_index);
    case kNwarpId:
      return Everywhere(context.warp_count);
    case kSmId:
      return Everywhere(context.sm);
    case kNsmId:
      return Everywhere(context.sm_count);
    case kLaneMaskEq:
    case kLaneMaskLe:
    case kLaneMaskLt:
    case kLaneMaskGe:
    case kLaneMaskGt:
      return LaneMasks(which);
    case kDynamicSharedBytes:
      return Everywhere(context.dynamic_shared_bytes);
    case kTotalSharedBytes:
      return Everywhere(context.total_shared_bytes);
    case kGridWorkspaceHigh:
      return Everywhere(context.grid_workspace >> 32);
    case kGridWorkspaceLow:
      return Everywhere(context.grid_workspace & kFullMask);
    case kZero:
      return Everywhere(0);
    case kOne:
      return Everywhere(1);
  }
  return Everywhere(0);
}

}  // namespace fsr::sim
