#include "tests/server/search/made_facts.h"

#include <stdexcept>

namespace fsr::testing {
namespace {

void Require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace

v1::Evaluation Failed(v1::Outcome outcome) {
  v1::Evaluation evaluation;
  evaluation.set_outcome(outcome);
  evaluation.set_diagnosis("It went wrong.");
  return evaluation;
}

v1::Evaluation Measured(double latency_us, bool estimated) {
  v1::Evaluation evaluation;
  evaluation.set_outcome(v1::MEASURED);
  evaluation.mutable_measurement()->set_latency_us(latency_us);
  evaluation.mutable_measurement()->set_estimated(estimated);
  return evaluation;
}

v1::Evaluation MeasuredAgainst(double latency_us, v1::Verdict verdict, double ratio) {
  v1::Evaluation evaluation = Measured(latency_us);
  v1::Comparison* baseline = evaluation.add_comparisons();
  baseline->set_against(v1::Comparison::BASELINE);
  baseline->set_verdict(v1::FASTER);
  v1::Comparison* incumbent = evaluation.add_comparisons();
  incumbent->set_against(v1::Comparison::INCUMBENT);
  incumbent->set_verdict(verdict);
  incumbent->set_ratio(ratio);
  return evaluation;
}

JobFacts FactsWithBaseline(uint32_t candidates_per_round, uint32_t round_count_max) {
  JobFacts facts;
  facts.id = 1;
  facts.job.set_state(v1::Job::RUNNING);
  facts.job.set_device_kind("sim:h200");
  facts.job.set_created_at_us(absl::ToUnixMicros(CreatedAt()));
  facts.job.mutable_options()->set_candidates_per_round(candidates_per_round);
  facts.job.mutable_options()->set_round_count_max(round_count_max);
  facts.task.set_name("transpose");
  facts.baseline_evaluation = 1;
  facts.baseline = Measured(100);
  return facts;
}

void AddRound(JobFacts* facts, int round, const std::vector<v1::Evaluation>& results) {
  for (const v1::Evaluation& result : results) {
    StoredPrompt prompt;
    prompt.number = static_cast<int>(facts->prompts.size()) + 1;
    prompt.round = round;
    prompt.dialogue = prompt.number;
    prompt.completion = "an answer";
    StoredCandidate candidate;
    candidate.number = prompt.candidate = static_cast<int>(facts->candidates.size()) + 1;
    candidate.round = round;
    candidate.prompt = prompt.number;
    candidate.dialogue = prompt.dialogue;
    candidate.evaluation = 1 + candidate.number;
    candidate.result = result;
    facts->prompts.push_back(prompt);
    facts->candidates.push_back(candidate);
  }
}

void FakeWorld::Step(absl::Time now) {
  const Decision decided = Decide(facts_, now, exhausted_);
  Require(decided.index() == Decide(facts_, now, exhausted_).index(), "two decisions from the same facts");
  std::visit([this](const auto& d) { Do(d); }, decided);
  if (random_.Below(2) == 0) FinishOne();
}

void FakeWorld::Do(const decision::EvaluateBaseline&) {
  Require(facts_.baseline_evaluation == 0, "the baseline is evaluated twice");
  facts_.baseline_evaluation = 1;
}

void FakeWorld::Do(const decision::StartRound& start) {
  const int last_round = facts_.prompts.empty() ? 0 : facts_.prompts.back().round;
  Require(start.round == last_round + 1, "a round begins that is not the next");
  Require(start.prompts.size() == facts_.job.options().candidates_per_round(), "a round without N prompts");
  for (const StoredCandidate& candidate : facts_.candidates) Require(candidate.result.has_value(), "a round too early");
  for (const PlannedPrompt& planned : start.prompts) {
    StoredPrompt prompt;
    prompt.number = static_cast<int>(facts_.prompts.size()) + 1;
    prompt.round = start.round;
    prompt.branch = planned.branch;
    prompt.dialogue = planned.dialogue == 0 ? 1000 + prompt.number : planned.dialogue;
    prompt.parent_candidate = planned.parent_candidate;
    prompt.temperature = planned.temperature;
    Require((planned.branch == v1::TASK) == (planned.parent_candidate == 0), "a branch without its candidate");
    facts_.prompts.push_back(prompt);
  }
}

void FakeWorld::Do(const decision::Ask& ask) {
  Require(!ask.prompts.empty(), "nothing asked");
  for (size_t i = 0; i < PartOf(ask.prompts.size()); ++i) {
    if (answers_left_ == 0) break;
    --answers_left_;
    StoredPrompt& prompt = facts_.prompts.at(static_cast<size_t>(ask.prompts[i]) - 1);
    Require(!prompt.completion, "a prompt is asked twice");
    prompt.completion = "an answer";
  }
  exhausted_ = answers_left_ == 0;
}

void FakeWorld::Do(const decision::MakeCandidates& make) {
  Require(!make.prompts.empty(), "nothing made");
  for (size_t i = 0; i < PartOf(make.prompts.size()); ++i) {
    StoredPrompt& prompt = facts_.prompts.at(static_cast<size_t>(make.prompts[i]) - 1);
    Require(prompt.completion && prompt.candidate == 0, "a candidate is made twice, or of nothing");
    StoredCandidate candidate;
    candidate.number = prompt.candidate = static_cast<int>(facts_.candidates.size()) + 1;
    candidate.round = prompt.round;
    candidate.prompt = prompt.number;
    candidate.dialogue = prompt.dialogue;
    candidate.parent_candidate = prompt.parent_candidate;
    candidate.evaluation = 1 + candidate.number;
    if (!facts_.candidates.empty() && random_.Below(6) == 0) {
      const StoredCandidate& twin = facts_.candidates[random_.Below(facts_.candidates.size())];
      candidate.duplicate_of = twin.duplicate_of == 0 ? twin.number : twin.duplicate_of;
      candidate.result = twin.result;
    }
    facts_.candidates.push_back(candidate);
  }
}

void FakeWorld::Do(const decision::Remeasure& remeasure) {
  Require(facts_.remeasured.count(remeasure.candidate) == 0, "measured again twice");
  Require(facts_.incumbent != 0, "measured again against nothing");
  facts_.remeasured[remeasure.candidate] = std::nullopt;
}

void FakeWorld::Do(const decision::Promote& promote) {
  StoredCandidate& candidate = facts_.candidates.at(static_cast<size_t>(promote.candidate) - 1);
  Require(candidate.result && IsRight(*candidate.result), "a wrong kernel is promoted");
  Require(promoted_rounds_.insert(candidate.round).second, "two promotions in a round");
  Require(!candidate.was_incumbent, "promoted again");
  candidate.was_incumbent = true;
  facts_.incumbent = promote.candidate;
  ++promotion_count_;
}

void FakeWorld::Do(const decision::End& end) {
  Require(!end.reason.empty(), "an end without a reason");
  ended_ = true;
  end_ = end;
}

void FakeWorld::Do(const decision::Wait&) { Require(FinishOne(), "waits, but nothing is under way"); }

bool FakeWorld::FinishOne() {
  if (facts_.baseline_evaluation != 0 && !facts_.baseline) {
    facts_.baseline = Measured(100);
    return true;
  }
  for (StoredCandidate& candidate : facts_.candidates) {
    if (candidate.result) continue;
    candidate.result = candidate.duplicate_of == 0
                           ? judge_(random_, facts_)
                           : facts_.candidates.at(static_cast<size_t>(candidate.duplicate_of) - 1).result;
    return true;
  }
  for (auto& [number, result] : facts_.remeasured) {
    if (result) continue;
    result = judge_(random_, facts_);
    return true;
  }
  return false;
}

}  // namespace fsr::testing
