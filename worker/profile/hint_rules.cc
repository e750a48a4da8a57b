#include "worker/profile/hint_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "worker/device/sim/occupancy.h"

namespace fsr {
namespace {

// ---- Thresholds, in % unless said otherwise ----
constexpr double kMemoryBusy = 65;       // of the data sheet's DRAM bandwidth; a large copy reaches 90
constexpr double kPipeBusy = 60;         // of a pipe's peak
constexpr double kIssueBusy = 70;        // of the schedulers' cycles
constexpr double kLaunchTimes = 2;       // launch overheads that a kernel must take to be more than a launch
constexpr double kEfficiencyLow = 70;    // of the bytes in the sectors moved that threads asked for
constexpr double kUsualSectors = 4;      // a request of a warp's 32 neighbouring 4-byte values
constexpr double kWidestSectors = 16;    // a request of 16-byte values: more must be scattered
constexpr double kConflictFactor = 1.2;  // passes over the conflict-free ones
constexpr double kOccupancyLow = 50;
constexpr double kBalanceLow = 85;          // what the average SM works of the busiest one's time
constexpr double kLanesFew = 24;            // of 32
constexpr double kStallShare = 25;          // of a warp's time
constexpr double kBytesExcess = 1.3;        // times the task's least
constexpr double kSpillSectorShare = 0.02;  // of the L2 traffic
constexpr double kSectorBytes = 32;
constexpr double kTensorFlopsPerByte = 20;  // below, memory is the limit with any arithmetic

// The counters by name. A missing one is NaN, and every comparison with it is false.
class View {
 public:
  View(const std::vector<v1::Counter>& counters, const ProfiledPlan& the_plan) : plan(the_plan) {
    for (const v1::Counter& counter : counters) values_[counter.name()] = counter.value();
    if (plan.resources.size() != 1) return;
    const v1::Resources& r = plan.resources[0];
    occupancy = sim::ComputeOccupancy(plan.device,
                                      {.grid_blocks = 1,
                                       .threads_per_block = r.block().x() * r.block().y() * r.block().z(),
                                       .registers_per_thread = r.registers_per_thread(),
                                       .shared_bytes_per_block = r.shared_bytes_static() + r.shared_bytes_dynamic()});
  }
  double operator[](std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
  }
  bool Has(std::string_view name) const { return values_.contains(name); }
  double DramBusy() const {
    const double peak = plan.device.memory_bandwidth_gb_per_s();
    return peak > 0 ? 100 * (*this)["dram_throughput"] / peak : std::numeric_limits<double>::quiet_NaN();
  }

  const ProfiledPlan& plan;
  sim::Occupancy occupancy;  // of a plan with one launch
  std::string limited_by;

 private:
  std::map<std::string, double, std::less<>> values_;
};

// The busiest of the pipes that do arithmetic, by name and %.
std::pair<const char*, double> BusiestPipe(const View& v) {
  constexpr std::array kPipes = {std::pair{"fma", "fma_pipe_utilisation"}, std::pair{"integer", "alu_pipe_utilisation"},
                                 std::pair{"f64", "fp64_pipe_utilisation"},
                                 std::pair{"special-function", "special_function_pipe_utilisation"},
                                 std::pair{"tensor", "tensor_pipe_utilisation"}};
  std::pair<const char*, double> busiest = {"", 0};
  for (const auto& [name, counter] : kPipes) {
    if (v[counter] > busiest.second) busiest = {name, v[counter]};
  }
  return busiest;
}

// In the order in which they hide one another.
std::string LimitedBy(const View& v) {
  if (!v.Has("dram_throughput") || !v.Has("issue_utilisation")) return "";
  if (v.plan.latency_us < kLaunchTimes * v.plan.device.launch_overhead_us()) return "launch";
  // A part that is busy while the SMs work limits nothing if they mostly wait for the slowest one.
  const double working = v.Has("sm_balance") ? v["sm_balance"] / 100 : 1;
  if (v.DramBusy() >= kMemoryBusy) return "memory";
  if (working * BusiestPipe(v).second >= kPipeBusy) return "compute";
  if (working * std::max(v["l1_and_shared_utilisation"], v["load_store_pipe_utilisation"]) >= kPipeBusy) return "l1";
  if (v["l2_utilisation"] >= kPipeBusy) return "l2";
  if (working * v["issue_utilisation"] >= kIssueBusy) return "issue";
  return "latency";
}

std::string Bytes(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes * 1e-9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes * 1e-6);
  return fmt::format("{:.4g} KB", bytes * 1e-3);
}

bool Scattered(const View& v, const char* sectors, const char* efficiency) {
  if (v.Has(efficiency)) return v[efficiency] < kEfficiencyLow && v[sectors] > kUsualSectors;
  return v[sectors] > kWidestSectors;
}

std::string ScatteredText(const View& v, const char* noun, const char* sectors, const char* efficiency) {
  std::string text = fmt::format("{:.1f} sectors a global {} request", v[sectors], noun);
  if (v.Has(efficiency)) text += fmt::format(", and only {:.0f} % of their bytes are used", v[efficiency]);
  return text +
         ": 4 sectors would do for neighbouring 4-byte values. Let neighbouring threads take neighbouring "
         "addresses.";
}

struct Stall {
  const char* counter;
  const char* meaning;
};
constexpr std::array kStalls = {
    Stall{"stall_long_scoreboard",
          "for data from global or local memory: more independent loads at a time (unrolling, "
          "cp.async) or more warps would hide it"},
    Stall{"stall_short_scoreboard",
          "for shared memory or special functions: fewer or wider shared-memory accesses "
          "would help"},
    Stall{"stall_barrier", "at __syncthreads: fewer barriers, or work of even length between them, would help"},
    Stall{"stall_membar", "at memory fences: fewer or narrower ones would help"},
    Stall{"stall_mio_throttle",
          "for room in the queue of shared-memory and special-function instructions: fewer or "
          "wider ones would help"},
    Stall{"stall_lg_throttle",
          "for room in the queue of global-memory instructions: wider accesses (16 bytes a "
          "thread) would make fewer"},
    Stall{"stall_wait", "for the fixed latency of arithmetic: more independent operations a thread would help"},
    Stall{"stall_math_pipe_throttle", "for a busy arithmetic pipe: fewer operations, or another kind, would help"},
    Stall{"stall_gmma", "for the tensor cores' warp groups: more wgmma in flight would help"},
    Stall{"stall_drain",
          "at their end for their stores to leave the SM: fewer, or better coalesced, stores would "
          "help"},
    Stall{"stall_no_instruction", "for instructions to arrive: less unrolled, smaller code would help"},
    Stall{"stall_branch_resolving", "for branch targets: fewer branches would help"},
};

const Stall& TopStall(const View& v) {
  return *std::max_element(kStalls.begin(), kStalls.end(), [&](const Stall& a, const Stall& b) {
    return (v.Has(a.counter) ? v[a.counter] : 0) < (v.Has(b.counter) ? v[b.counter] : 0);
  });
}

struct Rule {
  const char* question;  // that it answers
  double weight;         // of two that hold, the heavier one is said first
  bool (*holds)(const View&);
  std::string (*sentence)(const View&);
};

const Rule kRules[] = {
    {"Does it take longer than a launch?", 10,  //
     [](const View& v) { return v.limited_by == "launch"; },
     [](const View& v) {
       return fmt::format("It takes {:.1f} us, and an empty launch takes {:.1f} us: only fewer launches would help.",
                          v.plan.latency_us, v.plan.device.launch_overhead_us());
     }},
    {"Is it at the bandwidth of device memory?", 9,  //
     [](const View& v) { return v.limited_by == "memory"; },
     [](const View& v) {
       return fmt::format(
           "Limited by device memory: {} in {:.1f} us are {:.0f} GB/s, {:.0f} % of the data sheet's "
           "{:.0f}. Only fewer bytes would help much.",
           Bytes(v["dram_bytes"]), v.plan.latency_us, v["dram_throughput"], v.DramBusy(),
           v.plan.device.memory_bandwidth_gb_per_s());
     }},
    {"Is an arithmetic pipe full?", 9,  //
     [](const View& v) { return v.limited_by == "compute"; },
     [](const View& v) {
       const auto [pipe, percent] = BusiestPipe(v);
       return fmt::format("Limited by arithmetic: the {} pipe is busy {:.0f} % of the time, device memory {:.0f} %.",
                          pipe, percent, v.DramBusy());
     }},
    {"Is the L1 cache and shared memory full?", 9,  //
     [](const View& v) { return v.limited_by == "l1"; },
     [](const View& v) {
       return fmt::format(
           "Limited by the SM's own memory: L1 cache and shared memory are busy {:.0f} % of the time, "
           "the load/store pipe {:.0f} %. Wider accesses and more reuse in registers would help.",
           v["l1_and_shared_utilisation"], v["load_store_pipe_utilisation"]);
     }},
    {"Is the L2 cache, or the way to it, full?", 9,  //
     [](const View& v) { return v.limited_by == "l2"; },
     [](const View& v) {
       return fmt::format(
           "Limited by the L2 cache: it is busy {:.0f} % of the time, device memory {:.0f} %. {} pass "
           "between it and the SMs: fewer sectors, or more reuse in shared memory, would help.",
           v["l2_utilisation"], v.DramBusy(), Bytes(v["l2_bytes"]));
     }},
    {"Are the schedulers full?", 9,  //
     [](const View& v) { return v.limited_by == "issue"; },
     [](const View& v) {
       return fmt::format(
           "Limited by instructions: {:.3g} warp instructions keep the schedulers busy {:.0f} % of the "
           "time. Wider accesses, unrolling and simpler indices leave fewer.",
           v["warp_instructions"], v["issue_utilisation"]);
     }},
    {"Is anything full at all?", 8,  //
     [](const View& v) { return v.limited_by == "latency"; },
     [](const View& v) {
       return fmt::format(
           "Limited by latency: device memory is busy {:.0f} % of the time, the schedulers {:.0f} %, the "
           "busiest arithmetic pipe {:.0f} %. Nothing is full: more work in flight would help.",
           v.DramBusy(), v["issue_utilisation"], BusiestPipe(v).second);
     }},
    {"Are registers spilled?", 7.5,  //
     [](const View& v) {
       return v["local_memory_sectors"] > 0 &&
              !(v["local_memory_sectors"] * kSectorBytes < kSpillSectorShare * v["l2_bytes"]);
     },
     [](const View& v) {
       return fmt::format(
           "{:.3g} sectors go to local memory: registers are spilled, or an array is indexed at run time. "
           "Fewer live values a thread, or indices known at compile time, would avoid that.",
           v["local_memory_sectors"]);
     }},
    {"Are global stores coalesced?", 7,  //
     [](const View& v) { return Scattered(v, "global_store_sectors_per_request", "global_store_efficiency"); },
     [](const View& v) {
       return ScatteredText(v, "store", "global_store_sectors_per_request", "global_store_efficiency");
     }},
    {"Are global loads coalesced?", 7,  //
     [](const View& v) { return Scattered(v, "global_load_sectors_per_request", "global_load_efficiency"); },
     [](const View& v) {
       return ScatteredText(v, "load", "global_load_sectors_per_request", "global_load_efficiency");
     }},
    {"Does it move more bytes than the task needs?", 6,  //
     [](const View& v) { return v.plan.least_bytes > 0 && v["dram_bytes"] > kBytesExcess * v.plan.least_bytes; },
     [](const View& v) {
       return fmt::format(
           "{} pass between chip and device memory, {:.1f} times the {} that the task needs: data are "
           "read or written more than once.",
           Bytes(v["dram_bytes"]), v["dram_bytes"] / v.plan.least_bytes, Bytes(v.plan.least_bytes));
     }},
    {"Do shared-memory accesses meet in a bank?", 6,  //
     [](const View& v) { return v["shared_bank_conflict_factor"] > kConflictFactor; },
     [](const View& v) {
       return fmt::format(
           "Shared memory takes {:.1f} passes where 1 would do: lanes of a warp meet in the same bank "
           "({:.3g} extra passes). Pad the rows by one element or swizzle the index.",
           v["shared_bank_conflict_factor"], v["shared_bank_conflicts"]);
     }},
    {"Are the tensor cores left out?", 6,  //
     [](const View& v) {
       return v.plan.half_or_integer_data && v.plan.flops > kTensorFlopsPerByte * v.plan.least_bytes &&
              v.limited_by != "memory" && v["tensor_instructions"] == 0;
     },
     [](const View& v) {
       return fmt::format(
           "{:.3g} operations on types that tensor cores take, and no tensor instruction: mma.sync or "
           "wgmma would do them many times as fast.",
           v.plan.flops);
     }},
    {"What do warps wait for?", 5,  //
     [](const View& v) {
       return v.limited_by != "memory" && v.limited_by != "launch" && v[TopStall(v).counter] > kStallShare;
     },
     [](const View& v) {
       const Stall& stall = TopStall(v);
       return fmt::format("Warps spend {:.0f} % of their time waiting {}.", v[stall.counter], stall.meaning);
     }},
    {"Are there few warps on an SM?", 4,  //
     [](const View& v) { return v.limited_by == "latency" && v["achieved_occupancy"] < kOccupancyLow; },
     [](const View& v) {
       std::string text = fmt::format("SMs hold {:.0f} % of the warps they could", v["achieved_occupancy"]);
       if (!v.Has("occupancy")) return text + ".";
       if (v["waves"] < 1) return text + fmt::format(": the grid fills only {:.2f} of a wave.", v["waves"]);
       const v1::Resources& r = v.plan.resources[0];
       return text + fmt::format(
                         "; {:.0f} % are allowed by {} ({} registers a thread, {} bytes of shared memory and "
                         "{} threads a block).",
                         v["occupancy"], v.occupancy.limited_by, r.registers_per_thread(),
                         r.shared_bytes_static() + r.shared_bytes_dynamic(),
                         r.block().x() * r.block().y() * r.block().z());
     }},
    {"Do some SMs work while others wait?", 4,  //
     [](const View& v) { return v.limited_by != "launch" && v["sm_balance"] < kBalanceLow; },
     [](const View& v) {
       std::string text = fmt::format("The average SM works only {:.0f} % of the busiest one's time", v["sm_balance"]);
       if (v.Has("waves")) text += fmt::format(": the grid is {:.2f} waves", v["waves"]);
       return text + ". Blocks of equal length, and a grid of whole waves or many, would even it out.";
     }},
    {"Do lanes of a warp idle?", 3,  //
     [](const View& v) { return v["active_lanes_per_instruction"] < kLanesFew && v.limited_by != "memory"; },
     [](const View& v) {
       return fmt::format(
           "{:.1f} of 32 lanes work in an average instruction: threads of a warp take different branches, "
           "or have nothing to do.",
           v["active_lanes_per_instruction"]);
     }},
};

}  // namespace

Findings Interpret(const std::vector<v1::Counter>& counters, const ProfiledPlan& plan) {
  View view(counters, plan);
  view.limited_by = LimitedBy(view);
  std::vector<const Rule*> holding;
  for (const Rule& rule : kRules) {
    if (rule.holds(view)) holding.push_back(&rule);
  }
  std::stable_sort(holding.begin(), holding.end(), [](const Rule* a, const Rule* b) { return a->weight > b->weight; });
  Findings findings{.limited_by = view.limited_by, .hints = {}};
  for (const Rule* rule : holding) {
    if (findings.hints.size() < kProfileHintsMax) findings.hints.push_back(rule->sentence(view));
  }
  return findings;
}

}  // namespace fsr
