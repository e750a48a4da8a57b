#include "worker/profile/counter_set.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

namespace fsr {
namespace {

// An H200, as its data sheet and the CUDA programming guide have it.
v1::DeviceFacts H200() {
  v1::DeviceFacts facts;
  facts.set_compute_capability_major(9);
  facts.set_sm_count(132);
  facts.set_memory_bandwidth_gb_per_s(4800);
  facts.set_shared_bytes_per_sm(228 * 1024);
  facts.set_shared_bytes_per_block_max(227 * 1024);
  facts.set_registers_per_sm(65536);
  facts.set_threads_per_sm_max(2048);
  facts.set_blocks_per_sm_max(32);
  return facts;
}

v1::Resources Launch(uint32_t blocks, uint32_t threads, uint32_t registers) {
  v1::Resources resources;
  resources.set_kernel("k");
  resources.set_registers_per_thread(registers);
  resources.mutable_grid()->set_x(blocks);
  resources.mutable_grid()->set_y(1);
  resources.mutable_grid()->set_z(1);
  resources.mutable_block()->set_x(threads);
  resources.mutable_block()->set_y(1);
  resources.mutable_block()->set_z(1);
  return resources;
}

std::map<std::string, double> Named(const std::vector<v1::Counter>& counters) {
  std::map<std::string, double> values;
  for (const v1::Counter& counter : counters) values[counter.name()] = counter.value();
  return values;
}

TEST_CASE("no metric is asked for twice") {
  const std::vector<std::string> metrics = CuratedMetrics();
  CHECK(std::set<std::string>(metrics.begin(), metrics.end()).size() == metrics.size());
}

TEST_CASE("bytes are added up, and their rate is against the time by events") {
  const auto counters = Named(CountersOf({{"dram__bytes_read.sum", 3e8}, {"dram__bytes_write.sum", 1e8}},
                                         {.device = H200(), .resources = {}, .latency_us = 200}));
  CHECK(counters.at("dram_bytes") == 4e8);
  CHECK(counters.at("dram_throughput") == 2000);  // 4e8 bytes in 200 us
}

TEST_CASE("sectors are told a request, and as the share of their 32 bytes that is used") {
  const auto counters = Named(CountersOf({{"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 6400},
                                          {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", 200},
                                          {"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", 4}},
                                         {.device = H200()}));
  CHECK(counters.at("global_store_sectors_per_request") == 32);
  CHECK(counters.at("global_store_efficiency") == 12.5);
  CHECK_FALSE(counters.contains("global_load_sectors_per_request"));
}

TEST_CASE("a ratio of nothing is left out") {
  const auto counters = Named(CountersOf({{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 0},
                                          {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 0},
                                          {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 0},
                                          {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 0}},
                                         {.device = H200()}));
  CHECK_FALSE(counters.contains("global_load_sectors_per_request"));
  CHECK_FALSE(counters.contains("l1_hit_rate"));
  CHECK_FALSE(counters.contains("shared_bank_conflict_factor"));
}

TEST_CASE("without accesses there is no efficiency, which CUPTI gives as 0") {
  const auto counters =
      Named(CountersOf({{"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", 0}}, {.device = H200()}));
  CHECK_FALSE(counters.contains("global_load_efficiency"));
}

TEST_CASE("the L2 cache is as busy as its busiest part") {
  const auto counters = Named(CountersOf({{"lts__t_sectors.avg.pct_of_peak_sustained_active", 40},
                                          {"lts__xbar2lts_cycles_active.avg.pct_of_peak_sustained_active", 90},
                                          {"lts__d_sectors.avg.pct_of_peak_sustained_active", 50}},
                                         {.device = H200()}));
  CHECK(counters.at("l2_utilisation") == 90);
  CHECK_FALSE(Named(CountersOf({}, {.device = H200()})).contains("l2_utilisation"));
}

TEST_CASE("bank conflicts are told as passes over those without conflicts") {
  const auto counters = Named(CountersOf({{"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 320},
                                          {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 310}},
                                         {.device = H200()}));
  CHECK(counters.at("shared_bank_conflict_factor") == 32);
}

TEST_CASE("a stall is told as the share of a warp's time") {
  const auto counters =
      Named(CountersOf({{"smsp__average_warps_active_per_issue_active.ratio", 40},
                        {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 30}},
                       {.device = H200()}));
  CHECK(counters.at("stall_long_scoreboard") == 75);
}

TEST_CASE("operations on halves that only use the tensor pipe are no tensor instructions") {
  const auto counters = Named(CountersOf({{"sm__inst_executed_pipe_tensor_op_hmma.sum", 100},
                                          {"sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum", 100},
                                          {"sm__inst_executed_pipe_tensor_op_imma.sum", 0},
                                          {"sm__inst_executed_pipe_tensor_op_dmma.sum", 0}},
                                         {.device = H200()}));
  CHECK(counters.at("tensor_instructions") == 0);
}

TEST_CASE("occupancy and waves are those of the only launch, and missing where launches differ") {
  // 64 registers a thread: 1024 threads of an SM's 2048, 4 blocks of 256, 528 on the GPU.
  const auto one = Named(CountersOf({}, {.device = H200(), .resources = {Launch(792, 256, 64)}}));
  CHECK(one.at("occupancy") == 50);
  CHECK(one.at("blocks_per_sm") == 4);
  CHECK(one.at("waves") == 1.5);
  const auto two = Named(CountersOf({}, {.device = H200(), .resources = {Launch(792, 256, 64), Launch(1, 32, 16)}}));
  CHECK(two.empty());
}

}  // namespace
}  // namespace fsr
