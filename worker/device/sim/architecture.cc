#include "worker/device/sim/architecture.h"

namespace fsr::sim {
namespace {

// Lanes per cycle, in the order of Pipe. From "Throughput of Native Arithmetic Instructions" of the CUDA C++
// Programming Guide; f16 as packed pairs, so half of the results it gives. Shared memory and L1 deliver 128 bytes per
// cycle and SM, on Turing 64.
//                             alu  fma half  f64  sfu cvt  glob shar shfl barr tens ctrl
using Rates = std::array<double, kPipeCount>;
constexpr Rates kTuring = {64, 64, 64, 2, 16, 16, 16, 16, 32, 16, 16, 64};
constexpr Rates kAmpereHpc = {64, 64, 128, 32, 16, 16, 32, 32, 32, 16, 16, 64};
constexpr Rates kAmpere = {64, 128, 64, 2, 16, 64, 32, 32, 32, 16, 16, 64};
constexpr Rates kHopper = {64, 128, 128, 64, 16, 64, 32, 32, 32, 16, 32, 64};
constexpr Rates kBlackwell = {128, 128, 64, 2, 16, 64, 32, 32, 32, 16, 16, 64};

// Tensor rates: dense f16 peak of the data sheets / (2 * SMs * clock). L2 bandwidth and latencies: rounded from public
// microbenchmarks (Chips and Cheese; Jia et al., "Dissecting the NVIDIA Turing T4"; Luo et al., "Dissecting the NVIDIA
// Hopper Architecture"): good for a ranking, not more. Shared memory granularity and reserve: cuda_occupancy.h.
constexpr std::array kArchitectures = {
    Architecture{75, kTuring, 512, 24, 190, 430, 256, 0},
    Architecture{80, kAmpereHpc, 1024, 28, 200, 470, 128, 1024},
    Architecture{86, kAmpere, 512, 16, 220, 480, 128, 1024},
    Architecture{89, kAmpere, 512, 17, 270, 560, 128, 1024},
    Architecture{90, kHopper, 2048, 21, 260, 620, 128, 1024},
    Architecture{100, kHopper, 4096, 36, 300, 800, 128, 1024},
    Architecture{120, kBlackwell, 512, 18, 290, 680, 128, 1024},
};

}  // namespace

const Architecture& ArchitectureOf(const v1::DeviceFacts& device) {
  const uint32_t capability = device.compute_capability_major() * 10 + device.compute_capability_minor();
  const Architecture* best = &kArchitectures.front();
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.compute_capability <= capability) best = &architecture;
  }
  return *best;
}

}  // namespace fsr::sim
