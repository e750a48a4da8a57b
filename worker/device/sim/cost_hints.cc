#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "worker/device/sim/cost_report.h"
#include "worker/device/sim/lanes.h"

namespace fsr::sim {
namespace {

constexpr double kSectorBytes = 32;
constexpr double kUsualSectors = 4;      // of a warp's 32 neighbouring 4-byte values
constexpr double kSectorsExcess = 1.3;   // times the needed ones
constexpr double kConflictFactor = 1.2;  // passes over the conflict-free ones
constexpr double kActiveLanesFew = 24;   // of 32
constexpr double kOccupancyLow = 0.5;
constexpr double kInFlightLow = 0.8;     // of the bytes that full bandwidth needs
constexpr double kTailShare = 0.15;      // of the time lost to the last wave
constexpr double kRereadFactor = 3;      // bytes from L2 over bytes from DRAM
constexpr double kShareOfTimeMin = 0.1;  // a bound below it is not worth a hint
constexpr double kAtomicLanesMany = 4;

std::string Bytes(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes * 1e-9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes * 1e-6);
  if (bytes >= 1024) return fmt::format("{:.4g} KiB", bytes / 1024);
  return fmt::format("{:.0f} B", bytes);
}

struct Access {
  const char* noun;  // "load"
  const char* verb;  // "read"
  double requests, sectors, bytes, lane_distance;
};

class Hints {
 public:
  explicit Hints(const CostView& view) : view_(view), totals_(view.totals) {}

  std::vector<std::string> Collect() {
    Launch();
    Memory();
    Coalescing({"store", "write", totals_.store_requests, totals_.store_sectors, totals_.store_bytes,
                totals_.store_lane_distance});
    Coalescing(
        {"load", "read", totals_.load_requests, totals_.load_sectors, totals_.load_bytes, totals_.load_lane_distance});
    BankConflicts();
    Atomics();
    Residency();
    Tail();
    Divergence();
    Reuse();
    Issue();
    std::stable_sort(hints_.begin(), hints_.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> texts;
    for (auto& [weight, text] : hints_) {
      if (texts.size() < kHintsMax) texts.push_back(std::move(text));
    }
    return texts;
  }

 private:
  // `weight`: how much of the time it is about.
  void Add(double weight, std::string text) { hints_.emplace_back(weight, std::move(text)); }
  double ShareOfTime(double microseconds) const {
    return view_.microseconds > 0 ? microseconds / view_.microseconds : 0;
  }
  double ShareOfTime(Bound bound) const { return ShareOfTime(view_.bounds[bound]); }

  void Launch() {
    if (view_.limited_by != "launch") return;
    Add(2, fmt::format("Launching takes most of the {:.1f} us: only fewer launches would help.", view_.microseconds));
  }

  void Memory() {
    if (view_.limited_by != "memory") return;
    Add(1, fmt::format("Limited by device memory: {} in {:.1f} us, {:.0f} % of the {:.0f} GB/s of the data sheet. Only "
                       "fewer bytes would help much.",
                       Bytes(view_.bounds.dram_bytes), view_.microseconds,
                       100 * view_.bounds.dram_bytes / (view_.microseconds * 1e3) /
                           std::max(view_.device.memory_bandwidth_gb_per_s(), 1.0),
                       view_.device.memory_bandwidth_gb_per_s()));
  }

  void Coalescing(const Access& access) {
    if (access.requests <= 0) return;
    const double per_request = access.sectors / access.requests;
    const double needed =
        access.bytes > 0 ? std::max(access.bytes / access.requests / kSectorBytes, 1.0) : kUsualSectors;
    // Without the bytes, more than four sectors may well be wide accesses: only what must be scattered is named.
    const double excess = access.bytes > 0 ? needed * kSectorsExcess : 2 * kUsualSectors * 2;
    const double share = std::max(ShareOfTime(Bound::kL2), ShareOfTime(Bound::kL1));
    if (per_request <= excess || share < kShareOfTimeMin) return;
    std::string text =
        fmt::format("{:.1f} sectors a {} request where {:.0f} would do", per_request, access.noun, needed);
    const double distance = access.lane_distance / access.requests;
    if (distance >= 2) text += fmt::format(": neighbouring threads {} {} apart", access.verb, Bytes(distance));
    Add(share * (1 - needed / per_request), text + ". Let neighbouring threads take neighbouring addresses.");
  }

  void BankConflicts() {
    if (totals_.shared_ideal_wavefronts <= 0) return;
    const double factor = totals_.shared_wavefronts / totals_.shared_ideal_wavefronts;
    const double share = ShareOfTime(Bound::kShared);
    if (factor < kConflictFactor || share < kShareOfTimeMin) return;
    Add(share * (1 - 1 / factor),
        fmt::format("Shared memory takes {:.1f} passes where 1 would do: lanes of a warp meet in the same bank. Pad "
                    "the rows by one element or swizzle the index.",
                    factor));
  }

  void Atomics() {
    if (totals_.atomic_requests <= 0) return;
    const double share = ShareOfTime(Bound::kAtomics);
    const double lanes = totals_.atomic_same_address / totals_.atomic_requests;
    if (share < kShareOfTimeMin) return;
    std::string text = fmt::format("{:.3g} warp-level atomics to global memory", totals_.atomic_requests);
    if (lanes >= kAtomicLanesMany) text += fmt::format(", {:.1f} lanes of a warp on one address", lanes);
    Add(share, text + ": combine within the warp or the block first.");
  }

  void Residency() {
    const Occupancy& occupancy = view_.occupancy;
    if (occupancy.blocks_per_sm == 0) {
      Add(3, fmt::format("A block does not fit on an SM, by its {}: {} threads, {} registers a thread, {} of shared "
                         "memory.",
                         occupancy.limited_by, view_.shape.threads_per_block, view_.shape.registers_per_thread,
                         Bytes(view_.shape.shared_bytes_per_block)));
      return;
    }
    const bool starved = view_.bounds.bytes_in_flight_share < kInFlightLow || view_.limited_by == "latency";
    if (!starved) return;
    if (totals_.waves < 1) {
      const uint32_t sms = view_.device.sm_count();
      Add(ShareOfTime(Bound::kLatency),
          fmt::format("{:.0f} block(s) of {} threads do not fill {} SMs: more threads, or more independent loads a "
                      "thread, would hide the latency of memory.",
                      totals_.blocks, view_.shape.threads_per_block, sms));
    } else if (occupancy.fraction < kOccupancyLow) {
      Add(ShareOfTime(Bound::kLatency),
          fmt::format("An SM holds {} of {} warps, limited by {} ({} registers a thread, {} of shared memory a block).",
                      occupancy.warps_per_sm, occupancy.warps_per_sm_max, occupancy.limited_by,
                      view_.shape.registers_per_thread, Bytes(view_.shape.shared_bytes_per_block)));
    }
  }

  void Tail() {
    if (view_.limited_by == "launch") return;
    const double sms = std::max(view_.device.sm_count(), 1u);
    const double idle = 1 - 1 / (totals_.busiest_sm_share * sms);
    if (idle < kTailShare) return;
    const double blocks_on_busiest = totals_.busiest_sm_share * totals_.blocks;
    Add(idle / 2,
        fmt::format("{:.0f} blocks over {:.0f} SMs: the busiest SM does the work of {:.1f} blocks where {:.2f} "
                    "would be even, {:.0f} % of the GPU waits.",
                    totals_.blocks, sms, blocks_on_busiest, totals_.blocks / sms, 100 * idle));
  }

  void Divergence() {
    if (totals_.all_warp_instructions <= 0) return;
    const double lanes = totals_.thread_instructions / totals_.all_warp_instructions;
    const double share = std::max(ShareOfTime(Bound::kIssue), ShareOfTime(Bound::kLatency));
    if (lanes >= kActiveLanesFew || lanes <= 0 || share < kShareOfTimeMin) return;
    Add(share * (1 - lanes / kWarpSize),
        fmt::format("{:.1f} of 32 lanes work in an average instruction: threads of a warp take different branches, or "
                    "have nothing to do.",
                    lanes));
  }

  void Reuse() {
    if (view_.limited_by != "l2" || view_.bounds.dram_bytes <= 0) return;
    const double factor = totals_.l2_load_sectors / std::max(totals_.read_sectors, 1.0);
    if (factor < kRereadFactor) return;
    Add(ShareOfTime(Bound::kL2) / 2,
        fmt::format("Blocks read the same data {:.1f} times from L2: keep more of it in shared memory or registers.",
                    factor));
  }

  void Issue() {
    if (view_.limited_by != "issue") return;
    const double sectors = totals_.load_sectors + totals_.store_sectors + totals_.atomic_sectors;
    std::string text = fmt::format("Limited by instructions: {:.3g} warp instructions", totals_.all_warp_instructions);
    if (sectors > 0) text += fmt::format(", {:.2f} for each sector moved", totals_.all_warp_instructions / sectors);
    Add(0.5, text + ". Wider accesses, unrolling and simpler indices leave fewer.");
  }

  const CostView& view_;
  const LaunchTotals& totals_;
  std::vector<std::pair<double, std::string>> hints_;
};

}  // namespace

std::vector<std::string> CostHints(const CostView& view) { return Hints(view).Collect(); }

}  // namespace fsr::sim
