#include "worker/device/sim/occupancy.h"

#include <algorithm>
#include <array>
#include <utility>

#include "worker/device/sim/architecture.h"
#include "worker/device/sim/lanes.h"

namespace fsr::sim {
namespace {

constexpr uint32_t kSchedulersPerSm = 4;
constexpr uint32_t kRegisterGranularity = 256;  // of one warp's allocation

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Each scheduler has its own quarter of the registers, and gives them to whole warps.
uint64_t WarpsByRegisters(const v1::DeviceFacts& device, uint32_t registers_per_thread) {
  const uint64_t per_warp = RoundUp(uint64_t{registers_per_thread} * kWarpSize, kRegisterGranularity);
  if (per_warp == 0) return device.threads_per_sm_max() / kWarpSize;
  return device.registers_per_sm() / kSchedulersPerSm / per_warp * kSchedulersPerSm;
}

uint64_t BlocksByShared(const v1::DeviceFacts& device, uint32_t bytes) {
  const Architecture& architecture = ArchitectureOf(device);
  if (bytes > device.shared_bytes_per_block_max()) return 0;
  const uint64_t per_block =
      RoundUp(uint64_t{bytes} + architecture.shared_reserved_bytes, architecture.shared_granularity_bytes);
  return per_block == 0 ? device.blocks_per_sm_max() : device.shared_bytes_per_sm() / per_block;
}

}  // namespace

Occupancy ComputeOccupancy(const v1::DeviceFacts& device, const LaunchShape& shape) {
  Occupancy occupancy;
  occupancy.warps_per_block =
      static_cast<uint32_t>(RoundUp(std::max(shape.threads_per_block, 1u), kWarpSize) / kWarpSize);
  occupancy.warps_per_sm_max = device.threads_per_sm_max() / kWarpSize;
  const uint64_t warps = occupancy.warps_per_block;
  // Of equal ones the first is named: what a person would change first.
  const std::array limits = {
      std::pair<const char*, uint64_t>{"threads", occupancy.warps_per_sm_max / warps},
      std::pair<const char*, uint64_t>{"registers", WarpsByRegisters(device, shape.registers_per_thread) / warps},
      std::pair<const char*, uint64_t>{"shared memory", BlocksByShared(device, shape.shared_bytes_per_block)},
      std::pair<const char*, uint64_t>{"blocks", device.blocks_per_sm_max()},
  };
  const auto least =
      std::min_element(limits.begin(), limits.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  occupancy.blocks_per_sm = static_cast<uint32_t>(least->second);
  occupancy.limited_by = least->first;
  occupancy.warps_per_sm = occupancy.blocks_per_sm * occupancy.warps_per_block;
  if (occupancy.warps_per_sm_max > 0) {
    occupancy.fraction = static_cast<double>(occupancy.warps_per_sm) / occupancy.warps_per_sm_max;
  }
  return occupancy;
}

}  // namespace fsr::sim
