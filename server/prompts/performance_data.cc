#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "server/prompts/prompt_data.h"
#include "server/search/decide.h"

namespace fsr {
namespace {

constexpr size_t kTriedFastestMax = 16;
constexpr size_t kTriedLatestMax = 24;
constexpr size_t kHintsMax = 16;
constexpr size_t kLineBytesMax = 400;
constexpr size_t kChangeBytesMax = 120;

std::vector<std::string> Hints(const v1::Evaluation& result) {
  std::vector<std::string> hints;
  for (const std::string& hint : result.hints()) {
    if (hints.size() < kHintsMax) hints.push_back(CutMiddle(hint, kLineBytesMax));
  }
  for (const v1::Resources& kernel : result.resources()) {
    if (hints.size() == 2 * kHintsMax) break;
    std::string line =
        fmt::format("`{}`: {} registers a thread, {} bytes of shared memory a block, grid {}x{}x{}, block {}x{}x{}",
                    kernel.kernel(), kernel.registers_per_thread(),
                    kernel.shared_bytes_static() + kernel.shared_bytes_dynamic(), kernel.grid().x(), kernel.grid().y(),
                    kernel.grid().z(), kernel.block().x(), kernel.block().y(), kernel.block().z());
    if (kernel.spill_bytes() > 0) line += fmt::format(", {} bytes spilt to local memory", kernel.spill_bytes());
    hints.push_back(CutMiddle(line, kLineBytesMax));
  }
  return hints;
}

// Evaluated candidates worth a row: the fastest and the latest, in the order in which they were made.
std::vector<const StoredCandidate*> WorthARow(const JobFacts& facts, size_t* left_out) {
  std::vector<const StoredCandidate*> tried, right;
  for (const StoredCandidate& candidate : facts.candidates) {
    if (!candidate.result || candidate.duplicate_of != 0) continue;
    tried.push_back(&candidate);
    if (IsRight(*candidate.result)) right.push_back(&candidate);
  }
  std::stable_sort(right.begin(), right.end(), [](const StoredCandidate* a, const StoredCandidate* b) {
    return a->result->measurement().latency_us() < b->result->measurement().latency_us();
  });
  std::set<int> chosen;
  for (size_t i = 0; i < std::min(right.size(), kTriedFastestMax); ++i) chosen.insert(right[i]->number);
  for (size_t i = 0; i < std::min(tried.size(), kTriedLatestMax); ++i) chosen.insert(tried.rbegin()[i]->number);
  *left_out = tried.size() - chosen.size();
  tried.erase(std::remove_if(tried.begin(), tried.end(),
                             [&](const StoredCandidate* c) { return chosen.count(c->number) == 0; }),
              tried.end());
  return tried;
}

void AddTried(const JobFacts& facts, PromptData* data) {
  size_t left_out = 0;
  PromptData rows(PromptData::type::list);
  const std::vector<const StoredCandidate*> tried = WorthARow(facts, &left_out);
  for (const StoredCandidate* candidate : tried) {
    PromptData row;
    row.set("number", std::to_string(candidate->number));
    row.set("parent", candidate->parent_candidate == 0 ? "-" : std::to_string(candidate->parent_candidate));
    row.set("change", OneLine(candidate->change, kChangeBytesMax));
    row.set("outcome", v1::Outcome_Name(candidate->result->outcome()));
    row.set("latency", IsRight(*candidate->result) ? LatencyText(candidate->result->measurement()) : "-");
    rows.push_back(row);
  }
  data->set("has_tried", !tried.empty());
  data->set("tried", rows);
  if (left_out > 0) data->set("tried_left_out", std::to_string(left_out));
}

}  // namespace

void AddPerformance(const JobFacts& facts, const StoredCandidate& candidate, PromptData* data) {
  const v1::Evaluation& result = *candidate.result;
  const v1::Measurement& measurement = result.measurement();
  data->set("candidate_number", std::to_string(candidate.number));
  data->set("is_incumbent", candidate.number == facts.incumbent);
  data->set("code", CodeText(candidate.source));
  data->set("latency", LatencyText(measurement));
  if (measurement.latency_us() > 0) {
    const double baseline_us = facts.baseline->measurement().latency_us();
    data->set("speedup", fmt::format("{:.3g}", baseline_us / measurement.latency_us()));
  }
  data->set("estimated", measurement.estimated());
  if (measurement.floor_us() > 0) {
    data->set("floor", fmt::format("{:.4g} us", measurement.floor_us()));
    data->set("floor_share", fmt::format("{:.0f} %", 100 * measurement.floor_share()));
  }
  if (!measurement.limited_by().empty()) data->set("limited_by", OneLine(measurement.limited_by(), kLineBytesMax));
  const std::vector<std::string> hints = Hints(result);
  data->set("has_hints", !hints.empty());
  data->set("hints", ListOf(hints));
  AddTried(facts, data);
}

}  // namespace fsr
