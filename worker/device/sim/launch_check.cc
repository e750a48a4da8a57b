#include "worker/device/sim/launch_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "worker/device/sim/occupancy.h"

namespace fsr::sim {
namespace {

// Of every CUDA device: CUDA C++ Programming Guide, technical specifications.
constexpr uint32_t kGridXMax = 0x7fffffff;
constexpr uint32_t kGridYzMax = 65535;
constexpr uint32_t kBlockXyMax = 1024;
constexpr uint32_t kBlockZMax = 64;
uint64_t Product(const std::array<uint32_t, 3>& extents) { return uint64_t{extents[0]} * extents[1] * extents[2]; }

std::optional<std::string> CheckShape(const v1::DeviceFacts& device, const Program& program,
                                      const ResolvedLaunch& launch) {
  const auto& [gx, gy, gz] = launch.grid;
  const auto& [bx, by, bz] = launch.block;
  if (gx == 0 || gy == 0 || gz == 0 || bx == 0 || by == 0 || bz == 0) {
    return fmt::format("the grid ({}) or the block ({}) is empty", fmt::join(launch.grid, ","),
                       fmt::join(launch.block, ","));
  }
  if (gx > kGridXMax || gy > kGridYzMax || gz > kGridYzMax) {
    return fmt::format("the grid ({}) is larger than ({},{},{})", fmt::join(launch.grid, ","), kGridXMax, kGridYzMax,
                       kGridYzMax);
  }
  const uint64_t threads = Product(launch.block);
  if (threads > device.threads_per_block_max() || bx > kBlockXyMax || by > kBlockXyMax || bz > kBlockZMax) {
    return fmt::format("a block of ({}) has {} threads; the device allows {}, and at most ({},{},{})",
                       fmt::join(launch.block, ","), threads, device.threads_per_block_max(), kBlockXyMax, kBlockXyMax,
                       kBlockZMax);
  }
  if (program.max_threads != 0 && threads > program.max_threads) {
    return fmt::format("a block has {} threads, and the kernel's __launch_bounds__ allow {}", threads,
                       program.max_threads);
  }
  return std::nullopt;
}

std::optional<std::string> CheckArguments(const Program& program, const ResolvedLaunch& launch) {
  if (launch.arguments.size() != program.parameters.size()) {
    return fmt::format("the launch passes {} arguments, and the kernel has {} parameters", launch.arguments.size(),
                       program.parameters.size());
  }
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const ResolvedArgument& argument = launch.arguments[i];
    const uint64_t bytes = argument.kind == ResolvedArgument::Kind::kBuffer ? sizeof(uint64_t) : argument.bytes.size();
    if (argument.kind == ResolvedArgument::Kind::kTensorMap || bytes == program.parameters[i].bytes) continue;
    return fmt::format("argument {} has {} bytes, and the kernel's parameter has {}", i + 1, bytes,
                       program.parameters[i].bytes);
  }
  return std::nullopt;
}

std::optional<std::string> CheckCapacity(const v1::DeviceFacts& device, const Program& program,
                                         const ResolvedLaunch& launch, uint32_t registers_per_thread) {
  const uint64_t shared = uint64_t{program.shared_static_bytes} + launch.shared_bytes;
  if (shared > device.shared_bytes_per_block_max()) {
    return fmt::format("a block needs {} bytes of shared memory ({} static, {} dynamic), and the device allows {}",
                       shared, program.shared_static_bytes, launch.shared_bytes, device.shared_bytes_per_block_max());
  }
  const uint64_t per_sm = ComputeOccupancy(device, ShapeOf(program, launch, registers_per_thread)).blocks_per_sm;
  if (per_sm == 0) {
    return fmt::format("a block of {} threads with {} registers each does not fit the device's {} registers",
                       Product(launch.block), registers_per_thread, device.registers_per_sm());
  }
  const uint64_t resident = per_sm * device.sm_count();
  if (launch.cooperative && Product(launch.grid) > resident) {
    return fmt::format("a cooperative launch of {} blocks, of which the device holds {} at once", Product(launch.grid),
                       resident);
  }
  return std::nullopt;
}

}  // namespace

LaunchShape ShapeOf(const Program& program, const ResolvedLaunch& launch, uint32_t registers_per_thread) {
  LaunchShape shape;
  shape.grid_blocks = static_cast<uint32_t>(std::min<uint64_t>(Product(launch.grid), kGridXMax));
  shape.threads_per_block = static_cast<uint32_t>(Product(launch.block));
  shape.registers_per_thread = registers_per_thread;
  shape.shared_bytes_per_block = program.shared_static_bytes + launch.shared_bytes;
  return shape;
}

std::optional<LaunchRefusal> CheckLaunch(const v1::DeviceFacts& device, const Program& program,
                                         const ResolvedLaunch& launch, uint32_t registers_per_thread) {
  for (const auto& check : {CheckShape(device, program, launch), CheckArguments(program, launch)}) {
    if (check.has_value()) return LaunchRefusal{v1::LAUNCH_ERROR, *check};
  }
  for (const ResolvedArgument& argument : launch.arguments) {
    if (argument.kind == ResolvedArgument::Kind::kTensorMap) {
      return LaunchRefusal{v1::UNSUPPORTED, "tensor maps (TMA) are not simulated"};
    }
  }
  if (Product(launch.cluster) > 1 || program.required_cluster > 1) {
    return LaunchRefusal{v1::UNSUPPORTED, "clusters of more than one block are not simulated"};
  }
  if (const auto check = CheckCapacity(device, program, launch, registers_per_thread)) {
    return LaunchRefusal{v1::LAUNCH_ERROR, *check};
  }
  return std::nullopt;
}

}  // namespace fsr::sim
