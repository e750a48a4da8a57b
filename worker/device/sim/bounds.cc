#include "worker/device/sim/bounds.h"

#include <algorithm>
#include <cmath>

#include "worker/device/sim/lanes.h"

namespace fsr::sim {
namespace {

constexpr double kSectorBytes = 32;
constexpr double kSectorsPerLine = 4;
constexpr double kIssuePerCycle = 4;         // warp instructions of an SM's four schedulers
constexpr double kSmPortBytesPerCycle = 64;  // between one SM and L2
// An L2 write of less than a sector is a read, a change and a write under ECC. Fitted to the 995 us that a naive
// 8192 x 8192 f32 transpose takes on an H200.
constexpr double kPartialWriteCost = 2.5;
constexpr double kAtomicSectorCost = 2;       // read and write
constexpr double kAtomicAddressesUsual = 32;  // distinct sectors, where they were not counted
constexpr double kAtomicUnitsPerSm = 0.75;    // L2 slices, about
constexpr double kSharedAtomicPassCost = 2;
// Independent loads that a warp has under way, as the compiler's unrolling usually leaves them.
constexpr double kLoadsInFlight = 4;
constexpr double kCyclesPerDependentInstruction = 2.5;  // 4 to 6 of the pipe, less what the warp itself overlaps
constexpr double kSharedLatencyCycles = 25;
constexpr double kBarrierCycles = 20;
constexpr double kL1LatencyCycles = 35;
// Of re-reads whose data L2 cannot hold, the share that does miss: neighbours in time are neighbours in space.
constexpr double kCapacityMissShare = 0.25;

class BoundsOfLaunch {
 public:
  BoundsOfLaunch(const v1::DeviceFacts& device, const Occupancy& occupancy, const LaunchTotals& totals)
      : device_(device),
        architecture_(ArchitectureOf(device)),
        occupancy_(occupancy),
        totals_(totals),
        sms_(std::max(device.sm_count(), 1u)),
        cycles_per_us_(std::max(device.sm_clock_mhz(), 1u)) {}

  Bounds Compute() {
    bounds_.dram_bytes = DramSectors() * kSectorBytes;
    Set(Bound::kMemory, MemoryMicroseconds());
    Set(Bound::kL2, L2Microseconds());
    Set(Bound::kL1, OnBusiestSm(L1Cycles()));
    Set(Bound::kIssue, OnBusiestSm(IssueCycles()));
    Set(Bound::kShared, OnBusiestSm(SharedCycles()));
    Set(Bound::kAtomics, AtomicCycles() / cycles_per_us_);
    Set(Bound::kLatency, LatencyCycles() / cycles_per_us_);
    return bounds_;
  }

 private:
  void Set(Bound bound, double microseconds) { bounds_.microseconds[static_cast<size_t>(bound)] = microseconds; }
  double OnBusiestSm(double cycles_of_all) const { return cycles_of_all * totals_.busiest_sm_share / cycles_per_us_; }
  double Lanes(Pipe pipe) const { return architecture_.lanes_per_cycle[static_cast<size_t>(pipe)]; }

  double DramSectors() const {
    const double footprint = (totals_.read_sectors + totals_.written_sectors) * kSectorBytes;
    const double l2 = static_cast<double>(device_.l2_bytes());
    const double lost = footprint > l2 ? 1 - l2 / footprint : 0;
    const double reread = std::max(totals_.l2_load_sectors - totals_.read_sectors, 0.0);
    return totals_.read_sectors + totals_.written_sectors + reread * lost * kCapacityMissShare;
  }

  // Little's law: bandwidth is bytes in flight over latency. The last, partial wave has fewer blocks to keep them in
  // flight with.
  double MemoryMicroseconds() {
    const double peak = device_.memory_bandwidth_gb_per_s() * 1e3 * kDramAchievable;  // bytes per microsecond
    if (bounds_.dram_bytes <= 0 || peak <= 0) return 0;
    const double requests = totals_.load_requests + totals_.store_requests + totals_.atomic_requests;
    const double sectors = totals_.load_sectors + totals_.store_sectors + totals_.atomic_sectors;
    const double bytes_per_request = requests > 0 ? sectors / requests * kSectorBytes : kSectorBytes;
    const double latency_us = architecture_.dram_latency_cycles / cycles_per_us_;
    const double bytes_in_flight_per_block = occupancy_.warps_per_block * kLoadsInFlight * bytes_per_request;
    const auto rate = [&](double blocks) { return std::min(peak, blocks * bytes_in_flight_per_block / latency_us); };
    bounds_.bytes_in_flight_share = rate(totals_.resident_blocks) / peak;
    const double bytes_per_block = bounds_.dram_bytes / totals_.blocks;
    const double full_waves = std::floor(totals_.waves);
    const double rest = totals_.blocks - full_waves * totals_.resident_blocks;
    double time = full_waves * totals_.resident_blocks * bytes_per_block / rate(totals_.resident_blocks);
    if (rest >= 1) time += rest * bytes_per_block / rate(rest);
    return time;
  }

  // Share of the stored sectors that are not written in full.
  double PartialWriteShare() const {
    if (totals_.store_sectors <= 0) return 0;
    const double used = totals_.store_bytes > 0
                            ? totals_.store_bytes / (totals_.store_sectors * kSectorBytes)
                            : totals_.store_sectors / std::max(totals_.store_lines * kSectorsPerLine, 1.0);
    return 1 - std::min(used, 1.0);
  }

  double L2Microseconds() {
    const double sectors = totals_.l2_load_sectors + totals_.store_sectors + totals_.atomic_sectors;
    bounds_.l2_bytes = sectors * kSectorBytes;
    const double work = totals_.l2_load_sectors +
                        totals_.store_sectors * (1 + (kPartialWriteCost - 1) * PartialWriteShare()) +
                        totals_.atomic_sectors * kAtomicSectorCost;
    const double l2_cycles = work * kSectorBytes / (architecture_.l2_bytes_per_cycle_per_sm * sms_);
    return std::max(l2_cycles / cycles_per_us_, OnBusiestSm(sectors * kSectorBytes / kSmPortBytesPerCycle));
  }

  // One line is looked up a cycle, and a line's worth of sectors moved.
  double L1Cycles() const {
    const double sectors = totals_.load_sectors + totals_.store_sectors + totals_.atomic_sectors;
    const double lines = totals_.load_lines + totals_.store_lines + totals_.atomic_sectors;
    return std::max(lines, sectors / kSectorsPerLine) * kWarpSize / Lanes(Pipe::kGlobal);
  }

  double IssueCycles() const {
    double cycles = totals_.all_warp_instructions / kIssuePerCycle;
    for (size_t pipe = 0; pipe < totals_.warp_instructions.size(); ++pipe) {
      cycles = std::max(cycles, totals_.warp_instructions[pipe] * kWarpSize / architecture_.lanes_per_cycle[pipe]);
    }
    return std::max(cycles, totals_.tensor_multiply_adds / architecture_.tensor_multiply_adds_per_cycle);
  }

  double SharedCycles() const {
    return (totals_.shared_wavefronts + totals_.shared_atomic_passes * kSharedAtomicPassCost) * kWarpSize /
           Lanes(Pipe::kShared);
  }

  double AtomicCycles() const {
    if (totals_.atomic_requests <= 0) return 0;
    const double units = std::max(kAtomicUnitsPerSm * sms_, 1.0);
    const double distinct =
        totals_.atomic_distinct_sectors > 0 ? totals_.atomic_distinct_sectors : kAtomicAddressesUsual;
    return std::max(totals_.atomic_same_address, totals_.atomic_sectors) / std::clamp(distinct, 1.0, units);
  }

  double LoadLatencyCycles() const {
    if (totals_.load_sectors <= 0) return architecture_.l2_latency_cycles;
    const double l1_hits = 1 - totals_.l2_load_sectors / totals_.load_sectors;
    const double dram = std::min(totals_.read_sectors / totals_.load_sectors, 1 - l1_hits);
    return l1_hits * kL1LatencyCycles + (1 - l1_hits - dram) * architecture_.l2_latency_cycles +
           dram * architecture_.dram_latency_cycles;
  }

  double LatencyCycles() const {
    const double requests = totals_.load_requests + totals_.store_requests + totals_.atomic_requests;
    const double load_share = requests > 0 ? (totals_.load_requests + totals_.atomic_requests) / requests : 0;
    // At least one load is waited for, however many there are under way together.
    const double loads = totals_.longest_global * load_share;
    const double load_waits = loads > 0 ? std::max(loads / kLoadsInFlight, 1.0) : 0;
    const double chain =
        totals_.longest_instructions * kCyclesPerDependentInstruction + load_waits * LoadLatencyCycles() +
        totals_.longest_shared / kLoadsInFlight * kSharedLatencyCycles + totals_.longest_barriers * kBarrierCycles;
    return chain * std::ceil(totals_.waves);
  }

  const v1::DeviceFacts& device_;
  const Architecture& architecture_;
  const Occupancy& occupancy_;
  const LaunchTotals& totals_;
  const double sms_;
  const double cycles_per_us_;
  Bounds bounds_;
};

}  // namespace

std::string_view NameOf(Bound bound) {
  constexpr std::array<std::string_view, kBoundCount> kNames = {"memory", "l2",      "l1",     "issue",
                                                                "shared", "atomics", "latency"};
  return kNames.at(static_cast<size_t>(bound));
}

Bounds ComputeBounds(const v1::DeviceFacts& device, const Occupancy& occupancy, const LaunchTotals& totals) {
  return BoundsOfLaunch(device, occupancy, totals).Compute();
}

}  // namespace fsr::sim
