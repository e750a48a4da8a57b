#include "worker/profile/hint_rules.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

namespace fsr {
namespace {

using Values = std::map<std::string, double>;

ProfiledPlan Plan() {
  ProfiledPlan plan;
  plan.device.set_compute_capability_major(9);
  plan.device.set_sm_count(132);
  plan.device.set_memory_bandwidth_gb_per_s(4800);
  plan.device.set_launch_overhead_us(2);
  plan.device.set_shared_bytes_per_sm(228 * 1024);
  plan.device.set_shared_bytes_per_block_max(227 * 1024);
  plan.device.set_registers_per_sm(65536);
  plan.device.set_threads_per_sm_max(2048);
  plan.device.set_blocks_per_sm_max(32);
  plan.latency_us = 100;
  return plan;
}

// A kernel that is busy with nothing, and has no fault that a rule could name.
Values Quiet() {
  return {{"dram_throughput", 480},
          {"dram_bytes", 4.8e7},
          {"issue_utilisation", 20},
          {"sm_balance", 100},
          {"fma_pipe_utilisation", 10},
          {"l1_and_shared_utilisation", 10},
          {"l2_bytes", 4.8e7},
          {"local_memory_sectors", 0},
          {"load_store_pipe_utilisation", 10},
          {"waves", 8},
          {"achieved_occupancy", 90}};
}

Values With(std::initializer_list<Values::value_type> changes) {
  Values values = Quiet();
  for (const auto& [name, value] : changes) values[name] = value;
  return values;
}

Findings Interpreted(const Values& values, const ProfiledPlan& plan = Plan()) {
  std::vector<v1::Counter> counters;
  for (const auto& [name, value] : values) {
    v1::Counter& counter = counters.emplace_back();
    counter.set_name(name);
    counter.set_value(value);
  }
  return Interpret(counters, plan);
}

bool Says(const Findings& findings, const std::string& words) {
  for (const std::string& hint : findings.hints) {
    if (hint.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("without counters nothing is claimed") {
  const Findings findings = Interpreted({});
  CHECK(findings.limited_by.empty());
  CHECK(findings.hints.empty());
}

TEST_CASE("a kernel without a fault gets one hint: what limits it") {
  const Findings findings = Interpreted(Quiet());
  CHECK(findings.limited_by == "latency");
  REQUIRE(findings.hints.size() == 1);
  CHECK(findings.hints[0].starts_with("Limited by latency: device memory is busy 10 % of the time"));
}

TEST_CASE("at three quarters of the bandwidth, memory is the limit") {
  const Findings findings = Interpreted(With({{"dram_throughput", 3600}, {"dram_bytes", 3.6e8}}));
  CHECK(findings.limited_by == "memory");
  CHECK(Says(findings, "360.0 MB in 100.0 us are 3600 GB/s, 75 %"));
}

TEST_CASE("the busiest pipe is named, unless most SMs wait for one that is busy") {
  CHECK(Interpreted(With({{"fma_pipe_utilisation", 85}})).limited_by == "compute");
  CHECK(Says(Interpreted(With({{"tensor_pipe_utilisation", 85}})), "the tensor pipe is busy 85 %"));
  CHECK(Interpreted(With({{"fma_pipe_utilisation", 85}, {"sm_balance", 30}})).limited_by == "latency");
}

TEST_CASE("full schedulers, and a full L1, are limits of their own") {
  CHECK(Interpreted(With({{"issue_utilisation", 80}})).limited_by == "issue");
  CHECK(Interpreted(With({{"l1_and_shared_utilisation", 80}})).limited_by == "l1");
  CHECK(Interpreted(With({{"l2_utilisation", 80}})).limited_by == "l2");
}

TEST_CASE("what takes hardly longer than a launch is limited by launching, and its stalls are not told") {
  ProfiledPlan plan = Plan();
  plan.latency_us = 3;
  const Findings findings = Interpreted(With({{"stall_long_scoreboard", 80}, {"sm_balance", 20}}), plan);
  CHECK(findings.limited_by == "launch");
  CHECK(findings.hints.size() == 1);
}

TEST_CASE("scattered accesses are told by the bytes that they use") {
  const Values scattered = With({{"global_store_sectors_per_request", 32}, {"global_store_efficiency", 12.5}});
  CHECK(Says(Interpreted(scattered), "32.0 sectors a global store request, and only 12 % of their bytes are used"));
  CHECK_FALSE(Says(Interpreted(scattered), "global load"));
}

TEST_CASE("wide accesses are not scattered ones") {
  CHECK_FALSE(Says(Interpreted(With({{"global_load_sectors_per_request", 16}, {"global_load_efficiency", 100}})),
                   "global load"));
  // Without the efficiency, 16 sectors may be 16-byte values; more cannot.
  CHECK_FALSE(Says(Interpreted(With({{"global_load_sectors_per_request", 16}})), "global load"));
  CHECK(Says(Interpreted(With({{"global_load_sectors_per_request", 20}})), "20.0 sectors a global load request"));
}

TEST_CASE("one address for a whole warp uses few bytes of its sector, and is no fault") {
  CHECK_FALSE(Says(Interpreted(With({{"global_load_sectors_per_request", 1}, {"global_load_efficiency", 12.5}})),
                   "global load"));
}

TEST_CASE("bank conflicts, spills, idle lanes and uneven SMs are told with their figures") {
  CHECK(Says(Interpreted(With({{"shared_bank_conflict_factor", 32}, {"shared_bank_conflicts", 1000}})),
             "Shared memory takes 32.0 passes"));
  CHECK(Says(Interpreted(With({{"local_memory_sectors", 1e6}})), "1e+06 sectors go to local memory"));
  CHECK(Says(Interpreted(With({{"active_lanes_per_instruction", 8}})), "8.0 of 32 lanes work"));
  CHECK(Says(Interpreted(With({{"sm_balance", 55}, {"waves", 1.1}})),
             "55 % of the busiest one's time: the grid is 1.10"));
}

TEST_CASE("a few sectors of local memory beside much traffic are not worth a word") {
  // 1000 sectors are 32 kB of 48 MB.
  CHECK_FALSE(Says(Interpreted(With({{"local_memory_sectors", 1000}})), "local memory"));
}

TEST_CASE("bytes beyond the task's least are told as times") {
  ProfiledPlan plan = Plan();
  plan.least_bytes = 1.2e7;
  CHECK(Says(Interpreted(Quiet(), plan), "4.0 times the 12.0 MB that the task needs"));
  plan.least_bytes = 4.5e7;
  CHECK_FALSE(Says(Interpreted(Quiet(), plan), "times the"));
}

TEST_CASE("tensor cores are missed only where the task has work for them") {
  ProfiledPlan plan = Plan();
  plan.half_or_integer_data = true;
  plan.flops = 1e11;
  plan.least_bytes = 4.8e7;
  CHECK(Says(Interpreted(With({{"tensor_instructions", 0}}), plan), "no tensor instruction"));
  CHECK_FALSE(Says(Interpreted(With({{"tensor_instructions", 5}}), plan), "no tensor instruction"));
  CHECK_FALSE(Says(Interpreted(Quiet(), plan), "no tensor instruction"));  // not counted
  plan.half_or_integer_data = false;
  CHECK_FALSE(Says(Interpreted(With({{"tensor_instructions", 0}}), plan), "no tensor instruction"));
}

TEST_CASE("the longest wait is named, and only if it is long") {
  const Findings findings = Interpreted(With({{"stall_barrier", 40}, {"stall_wait", 10}}));
  CHECK(Says(findings, "Warps spend 40 % of their time waiting at __syncthreads"));
  CHECK_FALSE(Says(Interpreted(With({{"stall_barrier", 20}})), "Warps spend"));
}

TEST_CASE("few warps on an SM are told with what allows no more") {
  ProfiledPlan plan = Plan();
  v1::Resources& launch = plan.resources.emplace_back();
  launch.set_registers_per_thread(128);
  for (v1::Dim3* dimensions : {launch.mutable_block(), launch.mutable_grid()}) {
    dimensions->set_x(256);
    dimensions->set_y(1);
    dimensions->set_z(1);
  }
  // 128 registers: 512 threads of 2048.
  const Findings findings = Interpreted(With({{"achieved_occupancy", 24}, {"occupancy", 25}}), plan);
  CHECK(Says(findings, "SMs hold 24 % of the warps they could; 25 % are allowed by registers (128 registers a thread"));
  const Findings small = Interpreted(With({{"achieved_occupancy", 24}, {"occupancy", 25}, {"waves", 0.5}}), plan);
  CHECK(Says(small, "the grid fills only 0.50 of a wave"));
}

TEST_CASE("there are never more hints than the limit, and what limits the kernel comes first") {
  ProfiledPlan plan = Plan();
  plan.least_bytes = 1e6;
  const Findings findings = Interpreted(With({{"local_memory_sectors", 1e7},
                                              {"global_store_sectors_per_request", 32},
                                              {"global_load_sectors_per_request", 32},
                                              {"shared_bank_conflict_factor", 9},
                                              {"stall_wait", 60},
                                              {"sm_balance", 50},
                                              {"active_lanes_per_instruction", 5},
                                              {"achieved_occupancy", 10}}),
                                        plan);
  REQUIRE(findings.hints.size() == kProfileHintsMax);
  CHECK(findings.hints[0].starts_with("Limited by latency"));
}

}  // namespace
}  // namespace fsr
