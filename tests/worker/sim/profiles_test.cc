#include "worker/device/sim/profiles.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "worker/device/sim/architecture.h"

namespace fsr::sim {
namespace {

TEST_CASE("profiles carry the figures of the data sheets") {
  const v1::DeviceFacts h200 = FindProfile("h200").value();
  CHECK(h200.kind() == "sim:h200");
  CHECK(h200.simulated());
  CHECK(h200.architecture() == "sm_90a");
  CHECK(h200.sm_count() == 132);
  CHECK(h200.shared_bytes_per_sm() == 228 * 1024);
  CHECK(h200.shared_bytes_per_block_max() == 227 * 1024);
  CHECK(h200.l2_bytes() == 50 << 20);
  // Single-precision peaks as NVIDIA states them.
  const std::map<std::string, double> peaks = {{"h200", 67},        {"h100", 67},      {"a100", 19.5},
                                               {"rtx3090ti", 40},   {"rtx3090", 35.6}, {"rtx4090", 82.6},
                                               {"rtx5090", 104.8},  {"l40s", 91.6},    {"t4", 8.1},
                                               {"rtx2080ti", 13.4}, {"b200", 75},      {"gtx1660super", 5.0}};
  for (const auto& [name, tflops] : peaks) {
    INFO(name);
    CHECK(FindProfile(name).value().f32_peak_tflops() == Approx(tflops).epsilon(0.03));
  }
}

TEST_CASE("every profile is complete and of an architecture with known rates") {
  REQUIRE(ProfileNames().size() >= 7);
  for (const std::string& name : ProfileNames()) {
    INFO(name);
    const v1::DeviceFacts facts = FindProfile(name).value();
    const std::string capability =
        std::to_string(facts.compute_capability_major()) + std::to_string(facts.compute_capability_minor());
    CHECK(facts.architecture().rfind("sm_" + capability, 0) == 0);
    CHECK(ArchitectureOf(facts).compute_capability == std::stoul(capability));
    CHECK(facts.memory_bandwidth_gb_per_s() > 100);
    CHECK(facts.memory_bytes() > (uint64_t{1} << 32));
    CHECK(facts.shared_bytes_per_block_max() <= facts.shared_bytes_per_sm());
    CHECK(facts.launch_overhead_us() > 0);
    // L2 is faster than the memory behind it.
    CHECK(ArchitectureOf(facts).l2_bytes_per_cycle_per_sm * facts.sm_count() * facts.sm_clock_mhz() * 1e-3 >
          facts.memory_bandwidth_gb_per_s());
  }
}

TEST_CASE("an unknown profile is none") {
  CHECK_FALSE(FindProfile("h300").has_value());
  CHECK_FALSE(FindProfile("").has_value());
}

TEST_CASE("an architecture between known ones has the figures of the older") {
  v1::DeviceFacts facts;
  facts.set_compute_capability_major(8);
  facts.set_compute_capability_minor(7);
  CHECK(ArchitectureOf(facts).compute_capability == 86);
  facts.set_compute_capability_major(13);
  CHECK(ArchitectureOf(facts).compute_capability == 120);
}

}  // namespace
}  // namespace fsr::sim
