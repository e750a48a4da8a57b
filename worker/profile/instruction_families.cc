#include "worker/profile/instruction_families.h"

#include <algorithm>
#include <cmath>

namespace fsr {
namespace {

// `counted` are added up, `not_counted` are taken off again: what a counter includes beyond the family. Counters of the
// load/store unit count only warps with a thread whose predicate is true.
struct Family {
  std::string_view ptx;
  std::vector<std::string_view> counted, not_counted;
};

constexpr std::string_view kGmma = "sm__inst_executed_pipe_tensor_op_gmma.sum";
constexpr std::string_view kHmma = "sm__inst_executed_pipe_tensor_op_hmma.sum";  // kGmma and kHalfOnTensor, too
constexpr std::string_view kImma = "sm__inst_executed_pipe_tensor_op_imma.sum";
constexpr std::string_view kDmma = "sm__inst_executed_pipe_tensor_op_dmma.sum";
constexpr std::string_view kHalfOnTensor = "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum";
constexpr std::string_view kTmaLoad = "smsp__inst_executed_op_tma_ld_pred_on_any.sum";
constexpr std::string_view kTmaStore = "smsp__inst_executed_op_tma_st_pred_on_any.sum";
constexpr std::string_view kLdgsts = "smsp__inst_executed_op_ldgsts_pred_on_any.sum";
constexpr std::string_view kLdsm = "smsp__inst_executed_op_ldsm_pred_on_any.sum";
constexpr std::string_view kStsm = "smsp__inst_executed_op_shared_stsm_pred_on_any.sum";
constexpr std::string_view kGlobalLoad = "smsp__inst_executed_op_global_ld_pred_on_any.sum";
constexpr std::string_view kGlobalStore = "smsp__inst_executed_op_global_st_pred_on_any.sum";
constexpr std::string_view kSharedLoad = "smsp__inst_executed_op_shared_ld_pred_on_any.sum";
constexpr std::string_view kSharedStore = "smsp__inst_executed_op_shared_st_pred_on_any.sum";
constexpr std::string_view kGenericLoad = "smsp__inst_executed_op_generic_ld_pred_on_any.sum";
constexpr std::string_view kGenericStore = "smsp__inst_executed_op_generic_st_pred_on_any.sum";
constexpr std::string_view kAtomic = "smsp__inst_executed_op_generic_atom_pred_on_any.sum";
constexpr std::string_view kReduction = "smsp__inst_executed_op_global_red_pred_on_any.sum";
constexpr std::string_view kSharedAtomic = "smsp__inst_executed_op_shared_atom_pred_on_any.sum";
constexpr std::string_view kStas = "smsp__inst_executed_op_stas_pred_on_any.sum";
constexpr std::string_view kRedas = "smsp__inst_executed_op_redas_pred_on_any.sum";

// The longest row that a prefix is in is its family. The compiler may take an atomic whose result is not used for a
// reduction, and an access to a known space for a generic one. A row without counters is unknown.
const std::vector<Family>& Families() {
  static const auto& families = *new std::vector<Family>{
      {"wgmma", {kGmma}, {}},
      {"wgmma.fence", {}, {}},
      {"wgmma.commit_group", {}, {}},
      {"wgmma.wait_group", {}, {}},
      {"mma", {kHmma, kImma, kDmma}, {kGmma, kHalfOnTensor}},
      {"mma.sync.aligned.m8n8k4", {}, {}},  // of f16, without tensor cores from Turing on
      {"wmma", {kHmma, kImma, kDmma}, {kGmma, kHalfOnTensor}},
      {"wmma.load", {}, {}},
      {"wmma.store", {}, {}},
      {"ldmatrix", {kLdsm}, {}},
      {"stmatrix", {kStsm}, {}},
      {"cp.async", {kLdgsts, kTmaLoad, kTmaStore}, {}},
      {"cp.async.ca", {kLdgsts}, {}},
      {"cp.async.cg", {kLdgsts}, {}},
      {"cp.async.commit_group", {}, {}},
      {"cp.async.wait_group", {}, {}},
      {"cp.async.wait_all", {}, {}},
      {"cp.async.mbarrier", {}, {}},
      {"cp.async.bulk", {kTmaLoad, kTmaStore}, {}},
      {"cp.async.bulk.prefetch", {}, {}},
      {"cp.async.bulk.commit_group", {}, {}},
      {"cp.async.bulk.wait_group", {}, {}},
      {"cp.reduce.async.bulk", {kTmaStore}, {}},
      {"ld.global", {kGlobalLoad, kGenericLoad}, {}},
      {"st.global", {kGlobalStore, kGenericStore}, {}},
      {"ld.shared", {kSharedLoad, kGenericLoad}, {}},
      {"st.shared", {kSharedStore, kGenericStore}, {}},
      {"st.async", {kStas}, {}},
      {"red", {kAtomic, kReduction, kSharedAtomic}, {}},
      {"red.async", {kRedas}, {}},
      {"red.shared", {kSharedAtomic, kAtomic}, {}},
      {"atom", {kAtomic, kReduction, kSharedAtomic}, {}},
      {"atom.shared", {kSharedAtomic, kAtomic}, {}},
  };
  return families;
}

// "red." and "red.global" are in "red", "redux.sync" is not. nullptr if there is no family.
const Family* FamilyOf(std::string_view prefix) {
  const Family* longest = nullptr;
  for (const Family& family : Families()) {
    const bool in_it =
        prefix.starts_with(family.ptx) && (prefix.size() == family.ptx.size() || prefix[family.ptx.size()] == '.');
    if (in_it && (longest == nullptr || family.ptx.size() > longest->ptx.size())) longest = &family;
  }
  return longest;
}

std::optional<double> Sum(const std::vector<std::string_view>& names, const std::map<std::string, double>& metrics) {
  double sum = 0;
  for (const std::string_view name : names) {
    const auto found = metrics.find(std::string(name));
    if (found == metrics.end()) return std::nullopt;
    sum += found->second;
  }
  return sum;
}

}  // namespace

std::vector<std::string> MetricsOfInstruction(std::string_view prefix) {
  const Family* family = FamilyOf(prefix);
  if (family == nullptr) return {};
  std::vector<std::string> metrics(family->counted.begin(), family->counted.end());
  metrics.insert(metrics.end(), family->not_counted.begin(), family->not_counted.end());
  return metrics;
}

std::optional<uint64_t> ExecutedInstructions(std::string_view prefix, const std::map<std::string, double>& metrics) {
  const Family* family = FamilyOf(prefix);
  if (family == nullptr || family->counted.empty()) return std::nullopt;
  const std::optional<double> counted = Sum(family->counted, metrics), not_counted = Sum(family->not_counted, metrics);
  if (!counted || !not_counted) return std::nullopt;
  return static_cast<uint64_t>(std::llround(std::max(*counted - *not_counted, 0.0)));
}

}  // namespace fsr
