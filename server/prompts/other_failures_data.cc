#include "server/prompts/prompt_data.h"
#include "server/search/decide.h"

namespace fsr {

void AddOtherFailures(const JobFacts& facts, const std::vector<int>& numbers, PromptData* data) {
  PromptData rows(PromptData::type::list);
  size_t bytes = 0;
  bool any = false;
  for (const int number : numbers) {
    const StoredCandidate* failed = FindCandidate(facts, number);
    if (failed == nullptr || !failed->result) continue;
    PromptData row;
    // A key that a row lacks would be looked up outside of it.
    for (const char* key : {"code", "hidden_failure", "diagnosis", "compile_log"}) row.set(key, false);
    AddFailure(facts, *failed, &row);
    const std::string what = failed->result->outcome() == v1::COMPILE_ERROR ? "does not compile"
                             : failed->result->outcome() == v1::MISMATCH    ? "runs, but its result is wrong"
                                                                            : row.get("what_happened")->string_value();
    row.set("what_happened", what);
    bytes += failed->source.size();
    if (bytes > kOtherFailuresBytesMax) break;
    rows.push_back(row);
    any = true;
  }
  data->set("has_other_failures", any);
  data->set("failures_shown", rows);
}

}  // namespace fsr
