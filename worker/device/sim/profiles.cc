#include "worker/device/sim/profiles.h"

#include <array>
#include <cstdint>

namespace fsr::sim {
namespace {

// Of an empty kernel, as event pairs show it on GPUs of this kind.
constexpr double kLaunchOverheadMicroseconds = 3.0;

struct Profile {
  std::string_view name;
  std::string_view product;
  uint32_t capability_major, capability_minor;
  std::string_view architecture;
  uint32_t sm_count, sm_clock_mhz, memory_clock_mhz;
  double memory_gb_per_s;
  uint64_t memory_mib;
  uint32_t l2_kib, shared_kib_per_sm, shared_kib_per_block;
  uint32_t threads_per_sm, blocks_per_sm;
  uint32_t f32_lanes_per_sm;
};

// Limits by compute capability (shared memory, threads and blocks of an SM): CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability". The rest, by product:
//   h200, h100   NVIDIA H200 and H100 data sheets (SXM); H100 architecture white paper: 132 SMs, 50 MiB of L2. The
//                clock is the highest that the driver reports; 1980 MHz on both.
//   b200         NVIDIA DGX B200 data sheet (8 TB/s, 180 GB usable); 148 SMs, 126 MiB of L2 as the driver reports.
//   a100         A100 80GB SXM data sheet; A100 architecture white paper: 108 SMs, 40 MiB of L2.
//   rtx*, gtx*   product pages and architecture white papers (TU102/TU116, GA102, AD102, GB202); boost clock of the
//                reference card; bandwidth = bus width * data rate.
//   l40s, t4     their data sheets; AD102 and TU104 white papers.
constexpr std::array kProfiles = {
    // name, product, capability, architecture, SMs, clock, memory clock, GB/s, MiB, L2 KiB, shared, threads, blocks,
    // f32
    Profile{"h200", "NVIDIA H200", 9, 0, "sm_90a", 132, 1980, 3201, 4800, 143771, 51200, 228, 227, 2048, 32, 128},
    Profile{"h100", "NVIDIA H100 80GB HBM3", 9, 0, "sm_90a", 132, 1980, 2619, 3352, 81559, 51200, 228, 227, 2048, 32,
            128},
    Profile{"b200", "NVIDIA B200", 10, 0, "sm_100a", 148, 1965, 3996, 8000, 183359, 129024, 228, 227, 2048, 32, 128},
    Profile{"a100", "NVIDIA A100-SXM4-80GB", 8, 0, "sm_80", 108, 1410, 1593, 2039, 81920, 40960, 164, 163, 2048, 32,
            64},
    Profile{"l40s", "NVIDIA L40S", 8, 9, "sm_89", 142, 2520, 9001, 864, 46068, 98304, 100, 99, 1536, 24, 128},
    Profile{"rtx5090", "NVIDIA GeForce RTX 5090", 12, 0, "sm_120a", 170, 2407, 14001, 1792, 32607, 98304, 100, 99, 1536,
            24, 128},
    Profile{"rtx4090", "NVIDIA GeForce RTX 4090", 8, 9, "sm_89", 128, 2520, 10501, 1008, 24564, 73728, 100, 99, 1536,
            24, 128},
    Profile{"rtx3090ti", "NVIDIA GeForce RTX 3090 Ti", 8, 6, "sm_86", 84, 1860, 10501, 1008, 24564, 6144, 100, 99, 1536,
            16, 128},
    Profile{"rtx3090", "NVIDIA GeForce RTX 3090", 8, 6, "sm_86", 82, 1695, 9751, 936, 24576, 6144, 100, 99, 1536, 16,
            128},
    Profile{"rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", 7, 5, "sm_75", 68, 1545, 7000, 616, 11264, 5632, 64, 64, 1024,
            16, 64},
    Profile{"t4", "Tesla T4", 7, 5, "sm_75", 40, 1590, 5001, 320, 15360, 4096, 64, 64, 1024, 16, 64},
    Profile{"gtx1660super", "NVIDIA GeForce GTX 1660 SUPER", 7, 5, "sm_75", 22, 1785, 7001, 336, 6144, 1536, 64, 64,
            1024, 16, 64},
};

v1::DeviceFacts FactsOf(const Profile& profile) {
  constexpr uint64_t kKibibyte = 1024;
  v1::DeviceFacts facts;
  facts.set_kind("sim:" + std::string(profile.name));
  facts.set_name(std::string(profile.product) + " (simulated)");
  facts.set_simulated(true);
  facts.set_compute_capability_major(profile.capability_major);
  facts.set_compute_capability_minor(profile.capability_minor);
  facts.set_architecture(std::string(profile.architecture));
  facts.set_sm_count(profile.sm_count);
  facts.set_sm_clock_mhz(profile.sm_clock_mhz);
  facts.set_memory_clock_mhz(profile.memory_clock_mhz);
  facts.set_memory_bandwidth_gb_per_s(profile.memory_gb_per_s);
  facts.set_memory_bytes(profile.memory_mib * kKibibyte * kKibibyte);
  facts.set_l2_bytes(profile.l2_kib * kKibibyte);
  facts.set_shared_bytes_per_sm(static_cast<uint32_t>(profile.shared_kib_per_sm * kKibibyte));
  facts.set_shared_bytes_per_block_max(static_cast<uint32_t>(profile.shared_kib_per_block * kKibibyte));
  facts.set_registers_per_sm(65536);
  facts.set_threads_per_sm_max(profile.threads_per_sm);
  facts.set_blocks_per_sm_max(profile.blocks_per_sm);
  facts.set_threads_per_block_max(1024);
  facts.set_warp_size(32);
  // A multiply-add is two operations.
  facts.set_f32_peak_tflops(2e-6 * profile.sm_count * profile.f32_lanes_per_sm * profile.sm_clock_mhz);
  facts.set_launch_overhead_us(kLaunchOverheadMicroseconds);
  return facts;
}

}  // namespace

std::vector<std::string> ProfileNames() {
  std::vector<std::string> names;
  for (const Profile& profile : kProfiles) names.emplace_back(profile.name);
  return names;
}

std::optional<v1::DeviceFacts> FindProfile(std::string_view name) {
  for (const Profile& profile : kProfiles) {
    if (profile.name == name) return FactsOf(profile);
  }
  return std::nullopt;
}

}  // namespace fsr::sim
