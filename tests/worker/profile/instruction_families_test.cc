#include "worker/profile/instruction_families.h"

#include <catch2/catch.hpp>

namespace fsr {
namespace {

std::map<std::string, double> Zeros(std::string_view prefix) {
  std::map<std::string, double> metrics;
  for (const std::string& metric : MetricsOfInstruction(prefix)) metrics[metric] = 0;
  return metrics;
}

TEST_CASE("wgmma is counted on the tensor pipe, its fences are not counted at all") {
  CHECK(MetricsOfInstruction("wgmma.") == std::vector<std::string>{"sm__inst_executed_pipe_tensor_op_gmma.sum"});
  CHECK(ExecutedInstructions("wgmma.", {{"sm__inst_executed_pipe_tensor_op_gmma.sum", 4096}}) == 4096);
  CHECK(ExecutedInstructions("wgmma.mma_async", Zeros("wgmma.mma_async")) == 0);
  CHECK(MetricsOfInstruction("wgmma.fence.sync").empty());
  CHECK(ExecutedInstructions("wgmma.fence.sync", Zeros("wgmma.")) == std::nullopt);
}

TEST_CASE("a warp-group product is no mma.sync") {
  // The counter of HMMA counts HGMMA and operations on halves, too.
  const std::map<std::string, double> metrics = {{"sm__inst_executed_pipe_tensor_op_hmma.sum", 100},
                                                 {"sm__inst_executed_pipe_tensor_op_imma.sum", 0},
                                                 {"sm__inst_executed_pipe_tensor_op_dmma.sum", 0},
                                                 {"sm__inst_executed_pipe_tensor_op_gmma.sum", 60},
                                                 {"sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum", 30}};
  CHECK(ExecutedInstructions("mma.sync", metrics) == 10);
  CHECK(ExecutedInstructions("wmma.mma", metrics) == 10);
  CHECK(ExecutedInstructions("wgmma.", metrics) == 60);
}

TEST_CASE("the longest family that a prefix is in counts") {
  const std::map<std::string, double> metrics = {{"smsp__inst_executed_op_ldgsts_pred_on_any.sum", 7},
                                                 {"smsp__inst_executed_op_tma_ld_pred_on_any.sum", 20},
                                                 {"smsp__inst_executed_op_tma_st_pred_on_any.sum", 1}};
  CHECK(ExecutedInstructions("cp.async.", metrics) == 28);
  CHECK(ExecutedInstructions("cp.async.cg.shared", metrics) == 7);
  CHECK(ExecutedInstructions("cp.async.bulk", metrics) == 21);
  CHECK(ExecutedInstructions("cp.async.bulk.tensor.2d", metrics) == 21);
  CHECK(ExecutedInstructions("cp.async.bulk.commit_group", metrics) == std::nullopt);
}

TEST_CASE("an atomic may have become a reduction") {
  CHECK(ExecutedInstructions("atom.global.add", {{"smsp__inst_executed_op_generic_atom_pred_on_any.sum", 0},
                                                 {"smsp__inst_executed_op_global_red_pred_on_any.sum", 5},
                                                 {"smsp__inst_executed_op_shared_atom_pred_on_any.sum", 0}}) == 5);
}

TEST_CASE("what no counter tells is unknown, never 0") {
  for (const char* prefix : {"shfl.", "vote.", "redux.sync", "reduction", "mbarrier.", "fma.rn", "", "m", "c"}) {
    INFO(prefix);
    CHECK(MetricsOfInstruction(prefix).empty());
    CHECK(ExecutedInstructions(prefix, {}) == std::nullopt);
  }
}

TEST_CASE("a counter that the chip lacks leaves the answer unknown") {
  std::map<std::string, double> metrics = Zeros("mma.");
  metrics.erase("sm__inst_executed_pipe_tensor_op_gmma.sum");
  CHECK(ExecutedInstructions("mma.", metrics) == std::nullopt);
}

}  // namespace
}  // namespace fsr
