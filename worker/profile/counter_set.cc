#include "worker/profile/counter_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "worker/device/sim/occupancy.h"

namespace fsr {
namespace {

constexpr double kSectorBytes = 32;

constexpr char kDramRead[] = "dram__bytes_read.sum", kDramWrite[] = "dram__bytes_write.sum";
constexpr char kL2Sectors[] = "lts__t_sectors_srcunit_tex.sum";  // of the SMs
constexpr char kLoadSectors[] = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
constexpr char kLoadRequests[] = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
constexpr char kLoadHits[] = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum";
constexpr char kStoreSectors[] = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
constexpr char kStoreRequests[] = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
constexpr char kLoadBytesPerSector[] = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio";
constexpr char kStoreBytesPerSector[] = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio";
constexpr char kLocalLoadSectors[] = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum";
constexpr char kLocalStoreSectors[] = "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum";
constexpr char kSharedConflicts[] = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
constexpr char kSharedWavefronts[] = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
constexpr char kWarpsActive[] = "sm__warps_active.avg.pct_of_peak_sustained_active";
constexpr char kSmCyclesAverage[] = "sm__cycles_active.avg", kSmCyclesMin[] = "sm__cycles_active.min";
constexpr char kSmCyclesMax[] = "sm__cycles_active.max";
constexpr char kWarpInstructions[] = "smsp__inst_executed.sum";
constexpr char kActiveLanes[] = "smsp__average_thread_inst_executed_per_inst_executed.ratio";
constexpr char kHmma[] = "sm__inst_executed_pipe_tensor_op_hmma.sum";
constexpr char kHalfOnTensor[] = "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum";
constexpr char kImma[] = "sm__inst_executed_pipe_tensor_op_imma.sum";
constexpr char kDmma[] = "sm__inst_executed_pipe_tensor_op_dmma.sum";
constexpr char kGmma[] = "sm__inst_executed_pipe_tensor_op_gmma.sum";
constexpr char kWarpsPerIssue[] = "smsp__average_warps_active_per_issue_active.ratio";

// How busy a part of the SM is, in % of its peak while the SM works.
struct Utilisation {
  const char* metric;
  const char* counter;
};
constexpr std::array kUtilisations = {
    Utilisation{"smsp__issue_active.avg.pct_of_peak_sustained_active", "issue_utilisation"},
    Utilisation{"smsp__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", "fma_pipe_utilisation"},
    Utilisation{"smsp__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active", "alu_pipe_utilisation"},
    Utilisation{"smsp__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active", "fp64_pipe_utilisation"},
    Utilisation{"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", "special_function_pipe_utilisation"},
    Utilisation{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor_pipe_utilisation"},
    Utilisation{"sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active", "load_store_pipe_utilisation"},
    Utilisation{"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active", "l1_and_shared_utilisation"},
};

// The L2 cache and the ways to and from it: the busiest is what counts.
constexpr std::array kL2Parts = {"lts__t_sectors.avg.pct_of_peak_sustained_active",
                                 "lts__t_tag_requests.avg.pct_of_peak_sustained_active",
                                 "lts__d_sectors.avg.pct_of_peak_sustained_active",
                                 "lts__lts2xbar_cycles_active.avg.pct_of_peak_sustained_active",
                                 "lts__xbar2lts_cycles_active.avg.pct_of_peak_sustained_active",
                                 "l1tex__m_l1tex2xbar_req_cycles_active.avg.pct_of_peak_sustained_active",
                                 "l1tex__m_xbar2l1tex_read_sectors.avg.pct_of_peak_sustained_active"};

// NVIDIA's names of what a warp waits for.
constexpr std::array kStalls = {"long_scoreboard",
                                "short_scoreboard",
                                "barrier",
                                "membar",
                                "mio_throttle",
                                "lg_throttle",
                                "wait",
                                "math_pipe_throttle",
                                "gmma",
                                "drain",
                                "not_selected",
                                "no_instruction",
                                "branch_resolving"};

std::string StallMetric(std::string_view stall) {
  return fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", stall);
}

class CounterList {
 public:
  explicit CounterList(const std::map<std::string, double>& metrics) : metrics_(metrics) {}

  std::optional<double> Metric(const std::string& name) const {
    const auto found = metrics_.find(name);
    return found == metrics_.end() ? std::nullopt : std::optional<double>(found->second);
  }
  // Left out where the value, or what it is of, is missing or nothing.
  void Add(std::string name, std::optional<double> value, std::string_view unit) {
    if (!value) return;
    v1::Counter counter;
    counter.set_name(std::move(name));
    counter.set_value(*value);
    counter.set_unit(std::string(unit));
    counters_.push_back(std::move(counter));
  }
  void AddRatio(std::string name, std::optional<double> value, std::optional<double> of, std::string_view unit,
                double factor = 1) {
    if (value && of && *of > 0) Add(std::move(name), factor * *value / *of, unit);
  }
  std::vector<v1::Counter> Take() { return std::move(counters_); }

 private:
  const std::map<std::string, double>& metrics_;
  std::vector<v1::Counter> counters_;
};

std::optional<double> Plus(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional<double>(*a + *b) : std::nullopt;
}
std::optional<double> Minus(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional<double>(*a - *b) : std::nullopt;
}

// What follows from the launch alone, as the simulator says it.
void AddLaunch(const ProfiledPlan& plan, CounterList& list) {
  if (plan.resources.size() != 1) return;
  const v1::Resources& r = plan.resources[0];
  const sim::LaunchShape shape{.grid_blocks = r.grid().x() * r.grid().y() * r.grid().z(),
                               .threads_per_block = r.block().x() * r.block().y() * r.block().z(),
                               .registers_per_thread = r.registers_per_thread(),
                               .shared_bytes_per_block = r.shared_bytes_static() + r.shared_bytes_dynamic()};
  const sim::Occupancy occupancy = sim::ComputeOccupancy(plan.device, shape);
  list.Add("occupancy", 100 * occupancy.fraction, "%");
  list.Add("blocks_per_sm", occupancy.blocks_per_sm, "blocks");
  list.AddRatio("waves", shape.grid_blocks, double{1} * occupancy.blocks_per_sm * plan.device.sm_count(), "waves");
  list.Add("registers_per_thread", shape.registers_per_thread, "registers");
  list.Add("shared_bytes_per_block", shape.shared_bytes_per_block, "byte");
}

// CUPTI gives 0 where there were no such accesses.
void AddEfficiency(std::string name, std::optional<double> bytes_per_sector, CounterList& list) {
  if (bytes_per_sector && *bytes_per_sector > 0) list.Add(std::move(name), 100 * *bytes_per_sector / kSectorBytes, "%");
}

// The busiest part; missing if none was counted.
std::optional<double> L2Utilisation(const CounterList& list) {
  std::optional<double> busiest;
  for (const char* part : kL2Parts) busiest = std::max(busiest, list.Metric(part));  // nothing is less than any value
  return busiest;
}

void AddMemory(const ProfiledPlan& plan, CounterList& list) {
  const auto load_sectors = list.Metric(kLoadSectors), store_sectors = list.Metric(kStoreSectors);
  const auto read = list.Metric(kDramRead), write = list.Metric(kDramWrite);
  list.AddRatio("global_load_sectors_per_request", load_sectors, list.Metric(kLoadRequests), "sectors");
  list.AddRatio("global_store_sectors_per_request", store_sectors, list.Metric(kStoreRequests), "sectors");
  AddEfficiency("global_load_efficiency", list.Metric(kLoadBytesPerSector), list);
  AddEfficiency("global_store_efficiency", list.Metric(kStoreBytesPerSector), list);
  list.AddRatio("l1_hit_rate", list.Metric(kLoadHits), load_sectors, "%", 100);
  list.Add("local_memory_sectors", Plus(list.Metric(kLocalLoadSectors), list.Metric(kLocalStoreSectors)), "sectors");
  list.AddRatio("l2_bytes", list.Metric(kL2Sectors), 1, "byte", kSectorBytes);
  list.Add("l2_utilisation", L2Utilisation(list), "%");
  list.Add("dram_read_bytes", read, "byte");
  list.Add("dram_write_bytes", write, "byte");
  list.Add("dram_bytes", Plus(read, write), "byte");
  list.AddRatio("dram_throughput", Plus(read, write), plan.latency_us, "GB/s", 1e-3);
  const auto wavefronts = list.Metric(kSharedWavefronts);
  list.AddRatio("shared_bank_conflict_factor", wavefronts, Minus(wavefronts, list.Metric(kSharedConflicts)), "passes");
  list.Add("shared_bank_conflicts", list.Metric(kSharedConflicts), "passes");
}

void AddInstructions(CounterList& list) {
  list.Add("active_lanes_per_instruction", list.Metric(kActiveLanes), "lanes");
  list.Add("warp_instructions", list.Metric(kWarpInstructions), "instructions");
  const auto tensor = Plus(Plus(list.Metric(kHmma), list.Metric(kImma)), list.Metric(kDmma));
  list.Add("tensor_instructions", Minus(tensor, list.Metric(kHalfOnTensor)), "instructions");
  list.Add("wgmma_instructions", list.Metric(kGmma), "instructions");
  for (const Utilisation& utilisation : kUtilisations)
    list.Add(utilisation.counter, list.Metric(utilisation.metric), "%");
}

// How the SMs spent the time, and what a warp waited for, in % of the time it was there.
void AddTime(CounterList& list) {
  list.Add("achieved_occupancy", list.Metric(kWarpsActive), "%");
  list.AddRatio("sm_balance", list.Metric(kSmCyclesAverage), list.Metric(kSmCyclesMax), "%", 100);
  list.AddRatio("sm_least_busy", list.Metric(kSmCyclesMin), list.Metric(kSmCyclesMax), "%", 100);
  for (const char* stall : kStalls) {
    list.AddRatio(fmt::format("stall_{}", stall), list.Metric(StallMetric(stall)), list.Metric(kWarpsPerIssue), "%",
                  100);
  }
}

}  // namespace

std::vector<std::string> CuratedMetrics() {
  std::vector<std::string> metrics = {kDramRead,
                                      kDramWrite,
                                      kL2Sectors,
                                      kLoadSectors,
                                      kLoadRequests,
                                      kLoadHits,
                                      kStoreSectors,
                                      kStoreRequests,
                                      kLoadBytesPerSector,
                                      kStoreBytesPerSector,
                                      kLocalLoadSectors,
                                      kLocalStoreSectors,
                                      kSharedConflicts,
                                      kSharedWavefronts,
                                      kWarpsActive,
                                      kSmCyclesAverage,
                                      kSmCyclesMin,
                                      kSmCyclesMax,
                                      kWarpInstructions,
                                      kActiveLanes,
                                      kHmma,
                                      kHalfOnTensor,
                                      kImma,
                                      kDmma,
                                      kGmma,
                                      kWarpsPerIssue};
  for (const Utilisation& utilisation : kUtilisations) metrics.emplace_back(utilisation.metric);
  metrics.insert(metrics.end(), kL2Parts.begin(), kL2Parts.end());
  for (const char* stall : kStalls) metrics.push_back(StallMetric(stall));
  return metrics;
}

std::vector<v1::Counter> CountersOf(const std::map<std::string, double>& metrics, const ProfiledPlan& plan) {
  CounterList list(metrics);
  AddLaunch(plan, list);
  AddMemory(plan, list);
  AddInstructions(list);
  AddTime(list);
  return list.Take();
}

}  // namespace fsr
