#include "worker/device/sim/occupancy.h"

#include <cuda_occupancy.h>

#include <catch2/catch.hpp>
#include <random>

#include "worker/device/sim/architecture.h"
#include "worker/device/sim/profiles.h"

namespace fsr::sim {
namespace {

// NVIDIA's own calculator, from the toolkit's header.
int BlocksByCuda(const v1::DeviceFacts& device, const LaunchShape& shape) {
  cudaOccDeviceProp properties;
  properties.computeMajor = static_cast<int>(device.compute_capability_major());
  properties.computeMinor = static_cast<int>(device.compute_capability_minor());
  properties.maxThreadsPerBlock = static_cast<int>(device.threads_per_block_max());
  properties.maxThreadsPerMultiprocessor = static_cast<int>(device.threads_per_sm_max());
  properties.regsPerBlock = static_cast<int>(device.registers_per_sm());
  properties.regsPerMultiprocessor = static_cast<int>(device.registers_per_sm());
  properties.warpSize = 32;
  properties.sharedMemPerBlock = 48 * 1024;
  properties.sharedMemPerMultiprocessor = device.shared_bytes_per_sm();
  properties.numSms = static_cast<int>(device.sm_count());
  properties.sharedMemPerBlockOptin = device.shared_bytes_per_block_max();
  properties.reservedSharedMemPerBlock = device.compute_capability_major() >= 8 ? 1024 : 0;
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = 1024;
  attributes.numRegs = static_cast<int>(shape.registers_per_thread);
  attributes.sharedSizeBytes = 0;
  attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = device.shared_bytes_per_block_max();
  attributes.numBlockBarriers = 1;
  cudaOccDeviceState state;
  cudaOccResult result{};
  const cudaOccError error =
      cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
                                              static_cast<int>(shape.threads_per_block), shape.shared_bytes_per_block);
  REQUIRE(error == CUDA_OCC_SUCCESS);
  return result.activeBlocksPerMultiprocessor;
}

TEST_CASE("occupancy agrees with the toolkit's calculator for any shape on every GPU") {
  std::mt19937 random(7);
  for (const std::string& name : ProfileNames()) {
    const v1::DeviceFacts device = FindProfile(name).value();
    for (int round = 0; round < 300; ++round) {
      LaunchShape shape;
      shape.threads_per_block = 1 + static_cast<uint32_t>(random() % 1024);
      if (round % 2 == 0) shape.threads_per_block = 32 << (random() % 6);
      shape.registers_per_thread = 16 + static_cast<uint32_t>(random() % 240);
      const uint32_t shared_max = device.shared_bytes_per_block_max();
      shape.shared_bytes_per_block = static_cast<uint32_t>(round % 3 == 0 ? 0 : random() % (shared_max + 1));
      INFO(name << ": " << shape.threads_per_block << " threads, " << shape.registers_per_thread << " registers, "
                << shape.shared_bytes_per_block << " bytes");
      CHECK(static_cast<int>(ComputeOccupancy(device, shape).blocks_per_sm) == BlocksByCuda(device, shape));
    }
  }
}

TEST_CASE("what limits occupancy is named") {
  const v1::DeviceFacts h200 = FindProfile("h200").value();
  const auto occupancy = [&](uint32_t threads, uint32_t registers, uint32_t shared) {
    return ComputeOccupancy(h200, {1, threads, registers, shared});
  };
  // 2048 threads an SM; 65536 registers; 228 KiB, of which each block pays 1 KiB; 32 blocks.
  CHECK(occupancy(256, 32, 0).blocks_per_sm == 8);
  CHECK(occupancy(256, 32, 0).limited_by == "threads");
  CHECK(occupancy(256, 32, 0).fraction == 1.0);
  CHECK(occupancy(256, 128, 0).blocks_per_sm == 2);
  CHECK(occupancy(256, 128, 0).limited_by == "registers");
  CHECK(occupancy(256, 128, 0).fraction == 0.25);
  CHECK(occupancy(256, 32, 100 * 1024).blocks_per_sm == 2);
  CHECK(occupancy(256, 32, 100 * 1024).limited_by == "shared memory");
  CHECK(occupancy(32, 32, 0).blocks_per_sm == 32);
  CHECK(occupancy(32, 32, 0).limited_by == "blocks");
  CHECK(occupancy(32, 32, 0).fraction == 0.5);
  CHECK(occupancy(1024, 128, 0).blocks_per_sm == 0);
  CHECK(occupancy(32, 32, 227 * 1024).blocks_per_sm == 1);
  CHECK(occupancy(32, 32, 227 * 1024 + 1).blocks_per_sm == 0);
}

}  // namespace
}  // namespace fsr::sim
