// What the compute capability of a GPU says about its speed: rates of one SM, latencies, allocation granularities.
#pragma once

#include <array>
#include <cstdint>

#include "fsr/v1/evaluation.pb.h"
#include "worker/device/sim/events.h"

namespace fsr::sim {

inline constexpr int kPipeCount = static_cast<int>(Pipe::kCount);

struct Architecture {
  uint32_t compute_capability = 90;  // major * 10 + minor
  // Lanes that each pipe takes per cycle and SM: a warp instruction occupies it for 32 / lanes cycles.
  std::array<double, kPipeCount> lanes_per_cycle{};
  double tensor_multiply_adds_per_cycle = 0;  // f16 into f32, dense
  double l2_bytes_per_cycle_per_sm = 0;       // of the whole L2, divided by the SMs
  double l2_latency_cycles = 0, dram_latency_cycles = 0;
  // Allocation of shared memory to a block, as the CUDA occupancy calculator has it.
  uint32_t shared_granularity_bytes = 128;
  uint32_t shared_reserved_bytes = 1024;  // by the driver, in every block
};

// The figures of the device's compute capability, or of the nearest older one that is known.
const Architecture& ArchitectureOf(const v1::DeviceFacts& device);

}  // namespace fsr::sim
