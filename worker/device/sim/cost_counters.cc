#include <fmt/format.h>

#include <algorithm>

#include "worker/device/sim/cost_report.h"

namespace fsr::sim {
namespace {

class CounterList {
 public:
  void Add(std::string name, double value, std::string_view unit) {
    v1::Counter counter;
    counter.set_name(std::move(name));
    counter.set_value(value);
    counter.set_unit(std::string(unit));
    counters_.push_back(std::move(counter));
  }
  // Left out where nothing was counted: a ratio of nothing is no figure.
  void AddRatio(std::string name, double value, double of, std::string_view unit) {
    if (of > 0) Add(std::move(name), value / of, unit);
  }
  void AddPercent(std::string name, double value, double of) {
    if (of > 0) Add(std::move(name), 100 * value / of, "%");
  }
  std::vector<v1::Counter> Take() { return std::move(counters_); }

 private:
  std::vector<v1::Counter> counters_;
};

void AddMemoryCounters(const CostView& view, CounterList& list) {
  const LaunchTotals& totals = view.totals;
  list.AddRatio("global_load_sectors_per_request", totals.load_sectors, totals.load_requests, "sectors");
  list.AddRatio("global_store_sectors_per_request", totals.store_sectors, totals.store_requests, "sectors");
  constexpr double kSectorBytes = 32;
  if (totals.load_bytes > 0) {
    list.AddPercent("global_load_efficiency", totals.load_bytes, totals.load_sectors * kSectorBytes);
  }
  if (totals.store_bytes > 0) {
    list.AddPercent("global_store_efficiency", totals.store_bytes, totals.store_sectors * kSectorBytes);
  }
  list.AddPercent("l1_hit_rate", totals.load_sectors - totals.l2_load_sectors, totals.load_sectors);
  list.Add("l2_bytes", view.bounds.l2_bytes, "byte");
  list.Add("dram_bytes", view.bounds.dram_bytes, "byte");
  list.AddRatio("dram_throughput", view.bounds.dram_bytes * 1e-3, view.microseconds, "GB/s");
}

}  // namespace

std::vector<v1::Counter> CostCounters(const CostView& view) {
  const LaunchTotals& totals = view.totals;
  CounterList list;
  list.Add("occupancy", 100 * view.occupancy.fraction, "%");
  list.Add("blocks_per_sm", view.occupancy.blocks_per_sm, "blocks");
  list.Add("waves", totals.waves, "waves");
  list.Add("registers_per_thread", view.shape.registers_per_thread, "registers");
  list.Add("shared_bytes_per_block", view.shape.shared_bytes_per_block, "byte");
  AddMemoryCounters(view, list);
  list.AddRatio("shared_bank_conflict_factor", totals.shared_wavefronts, totals.shared_ideal_wavefronts, "passes");
  list.AddRatio("atomic_lanes_per_address", totals.atomic_same_address, totals.atomic_requests, "lanes");
  list.AddRatio("active_lanes_per_instruction", totals.thread_instructions, totals.all_warp_instructions, "lanes");
  list.Add("warp_instructions", totals.all_warp_instructions, "instructions");
  list.AddPercent("issue_utilisation", view.bounds[Bound::kIssue], view.microseconds);
  for (size_t i = 0; i < kBoundCount; ++i) {
    const auto bound = static_cast<Bound>(i);
    list.Add(fmt::format("bound_{}", NameOf(bound)), view.bounds[bound], "us");
  }
  return list.Take();
}

}  // namespace fsr::sim
