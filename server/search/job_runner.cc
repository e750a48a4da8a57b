#include "server/search/job_runner.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <set>
#include <variant>
#include <vector>

#include "common/hash.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "common/task_loader.h"
#include "server/answers/read_answer.h"
#include "server/search/end_job.h"
#include "server/search/storing_sink.h"

namespace fsr {
namespace {

bool HasEnded(const v1::Job& job) { return job.state() != v1::Job::QUEUED && job.state() != v1::Job::RUNNING; }

v1::Evaluation Refusal(const UnreadableAnswer& unreadable) {
  v1::Evaluation refused;
  refused.set_outcome(unreadable.outcome);
  refused.set_signature(unreadable.signature);
  refused.set_diagnosis(unreadable.diagnosis);
  return refused;
}

// The code that a prompt shows, which edits in its answer are made to.
const std::string& ShownSource(const JobFacts& facts, const StoredPrompt& prompt) {
  const StoredCandidate* parent = FindCandidate(facts, prompt.parent_candidate);
  return parent == nullptr ? facts.task.baseline_source() : parent->source;
}

std::string SourceHash(const std::string& source) { return Sha256Hex(NormalizedSource(source)); }

// A copy of the baseline is answered from the baseline's evaluation.
v1::Evaluation ResultOfBaselineCopy(const v1::Evaluation& baseline) {
  v1::Evaluation result = baseline;
  result.set_diagnosis("The code is that of the baseline, whose evaluation answers for it.");
  result.clear_comparisons();
  v1::Comparison* comparison = result.add_comparisons();
  comparison->set_against(v1::Comparison::BASELINE);
  comparison->set_verdict(v1::SAME);
  comparison->set_ratio(1);
  comparison->set_ratio_low(1);
  comparison->set_ratio_high(1);
  comparison->set_other_latency_us(baseline.measurement().latency_us());
  return result;
}

}  // namespace

void JobRunner::Run() {
  while (true) {
    // The version is read before all else: what changes after this, a stop among it, ends the waits below.
    const uint64_t seen = store_.changes().Version();
    if (stopping_) return;
    absl::StatusOr<JobFacts> facts = store_.LoadFacts(job_);
    if (absl::IsNotFound(facts.status())) return;
    if (facts.ok() && HasEnded(facts->job)) return;
    if (facts.ok()) job_name_ = facts->job.name();
    const absl::Status status = facts.ok() ? Step(*facts, seen) : facts.status();
    if (status.ok()) {
      EndWait(&store_backoff_);
      continue;
    }
    if (IsOver()) return;  // it was cancelled under our hands
    // Not the job's fault: it stays, and goes on when the store works again.
    WaitOut(fmt::format("the store does not work: {}", MessageOf(status)), &store_backoff_, absl::InfiniteFuture());
  }
}

absl::Status JobRunner::Step(const JobFacts& facts, uint64_t seen) {
  if (facts.job.state() == v1::Job::QUEUED) return store_.StartJob(job_);
  if (generator_ == nullptr) {
    auto generator = options_.new_generator(facts.job.generator(), facts.task);
    if (!generator.ok()) return Fail(MessageOf(generator.status()));
    generator_ = *std::move(generator);
  }
  const Decision decided = Decide(facts, clock_.Now(), exhausted_);
  const bool waits_for_others = std::holds_alternative<decision::Ask>(decided) && generator_->AnsweredFromOutside();
  if (waits_for_others || std::holds_alternative<decision::Wait>(decided)) {
    store_.changes().AwaitChange(seen, WallDeadline(facts.job));
    return absl::OkStatus();
  }
  return std::visit(
      [&](const auto& what) -> absl::Status {
        if constexpr (std::is_same_v<std::decay_t<decltype(what)>, decision::Wait>) {
          return absl::OkStatus();
        } else {
          return Do(facts, what);
        }
      },
      decided);
}

v1::EvaluationSpec JobRunner::SpecFor(const JobFacts& facts, const std::string& source) const {
  v1::EvaluationSpec spec;
  spec.set_source(source);
  spec.set_seed(options_.new_seed());
  *spec.mutable_limits() = facts.job.options().limits();
  return spec;
}

v1::EvaluationSpec JobRunner::CandidateSpec(const JobFacts& facts, const std::string& source) const {
  v1::EvaluationSpec spec = SpecFor(facts, source);
  // An estimate is the same every time: running the others again beside the candidate would tell nothing new.
  if (facts.baseline && facts.baseline->measurement().estimated()) return spec;
  v1::Reference* baseline = spec.add_references();
  baseline->set_against(v1::Comparison::BASELINE);
  baseline->set_source(facts.task.baseline_source());
  if (const StoredCandidate* best = FindCandidate(facts, facts.incumbent)) {
    v1::Reference* incumbent = spec.add_references();
    incumbent->set_against(v1::Comparison::INCUMBENT);
    incumbent->set_source(best->source);
  }
  return spec;
}

absl::Status JobRunner::Do(const JobFacts& facts, const decision::EvaluateBaseline&) {
  return store_.EnqueueBaseline(job_, SpecFor(facts, facts.task.baseline_source()));
}

absl::Status JobRunner::Do(const JobFacts& facts, const decision::StartRound& start) {
  const auto templates = options_.templates.With(facts.prompt_templates);
  if (!templates.ok()) return Fail(MessageOf(templates.status()));
  std::vector<NewPrompt> prompts;
  for (size_t i = 0; i < start.prompts.size(); ++i) {
    const PlannedPrompt& planned = start.prompts[i];
    if (i > 0 && planned == start.prompts[i - 1]) {
      prompts.push_back(prompts.back());
      continue;
    }
    auto written = WritePrompt(*templates, facts, planned, facts.baseline->measurement().device());
    if (!written.ok()) return Fail(MessageOf(written.status()));
    prompts.push_back({planned.branch, planned.dialogue, planned.parent_candidate, std::move(written->system_text),
                       std::move(written->user_text), planned.temperature});
  }
  return store_.StartRound(job_, start.round, prompts);
}

absl::Status JobRunner::Do(const JobFacts& facts, const decision::Ask& ask) {
  std::vector<StoredPrompt> prompts;
  for (const StoredPrompt& prompt : facts.prompts) {
    if (std::find(ask.prompts.begin(), ask.prompts.end(), prompt.number) != ask.prompts.end())
      prompts.push_back(prompt);
  }
  StoringSink sink(job_, facts.job.options(), &store_, &stopping_, [this] { return MakeCandidatesSoFar(); });
  const absl::Status answered = generator_->Answer(facts, prompts, sink);
  RETURN_IF_ERROR(sink.trouble());
  if (stopping_) return absl::OkStatus();
  if (answered.ok()) {
    EndWait(&generator_backoff_);
    return absl::OkStatus();
  }
  if (absl::IsOutOfRange(answered)) {
    exhausted_ = true;
    return absl::OkStatus();
  }
  if (absl::IsUnavailable(answered)) {
    WaitOut(fmt::format("the generator is asked again later: {}", MessageOf(answered)), &generator_backoff_,
            WallDeadline(facts.job));
    return absl::OkStatus();
  }
  return Fail(fmt::format("The generator \"{}\" failed: {}", facts.job.generator().name(), MessageOf(answered)));
}

absl::Status JobRunner::MakeCandidatesSoFar() {
  ASSIGN_OR_RETURN(const JobFacts facts, store_.LoadFacts(job_));
  if (HasEnded(facts.job)) return absl::OkStatus();
  const Decision decided = Decide(facts, clock_.Now(), exhausted_);
  const auto* make = std::get_if<decision::MakeCandidates>(&decided);
  return make == nullptr ? absl::OkStatus() : Do(facts, *make);
}

absl::Status JobRunner::Do(const JobFacts& facts, const decision::MakeCandidates& make) {
  std::map<std::string, int> known;  // hash -> the first candidate with it
  for (const StoredCandidate& candidate : facts.candidates) {
    if (candidate.source_hash.empty()) continue;
    // One whose program turned out to be another's has that one's result.
    known.try_emplace(candidate.source_hash, candidate.duplicate_of == 0 ? candidate.number : candidate.duplicate_of);
  }
  const std::string baseline_hash = SourceHash(facts.task.baseline_source());
  std::set<std::string> made;
  for (const StoredPrompt& prompt : facts.prompts) {
    if (std::find(make.prompts.begin(), make.prompts.end(), prompt.number) == make.prompts.end()) continue;
    NewCandidate candidate;
    candidate.prompt = prompt.number;
    auto answer = ReadAnswer(*prompt.completion, {facts.task, ShownSource(facts, prompt)});
    if (auto* unreadable = std::get_if<UnreadableAnswer>(&answer)) {
      candidate.refused = Refusal(*unreadable);
      candidate.source = std::move(unreadable->source);
      RETURN_IF_ERROR(store_.AddCandidate(job_, candidate));
      continue;
    }
    candidate.source = std::get<std::string>(std::move(answer));
    candidate.source_hash = SourceHash(candidate.source);
    // The number of a twin made just now is known only after the next look at the facts.
    if (!made.insert(candidate.source_hash).second) continue;
    const auto twin = known.find(candidate.source_hash);
    if (twin != known.end()) {
      candidate.duplicate_of = twin->second;
    } else if (candidate.source_hash == baseline_hash) {
      candidate.refused = ResultOfBaselineCopy(*facts.baseline);
    } else {
      candidate.spec = CandidateSpec(facts, candidate.source);
    }
    RETURN_IF_ERROR(store_.AddCandidate(job_, candidate));
  }
  return absl::OkStatus();
}

absl::Status JobRunner::Do(const JobFacts& facts, const decision::Remeasure& remeasure) {
  const StoredCandidate* candidate = FindCandidate(facts, remeasure.candidate);
  return store_.Remeasure(job_, remeasure.candidate, CandidateSpec(facts, candidate->source));
}

absl::Status JobRunner::Do(const JobFacts& /*facts*/, const decision::Promote& promote) {
  return store_.Promote(job_, promote.candidate);
}

absl::Status JobRunner::Do(const JobFacts& facts, const decision::End& end) {
  spdlog::info("{} ends as {}: {}", facts.job.name(), v1::Job::State_Name(end.state), end.reason);
  return EndJob(&store_, job_, end.state, end.reason);
}

absl::Status JobRunner::Fail(const std::string& reason) { return EndJob(&store_, job_, v1::Job::FAILED, reason); }

void JobRunner::WaitOut(const std::string& trouble, absl::Duration* backoff, absl::Time deadline) {
  spdlog::warn("{} waits: {}", job_name_.empty() ? fmt::format("job {}", job_) : job_name_, trouble);
  notes_.Set(job_name_, trouble);
  store_.changes().Notify();
  Pause(backoff, deadline);
}

void JobRunner::EndWait(absl::Duration* backoff) {
  if (*backoff == absl::ZeroDuration()) return;
  *backoff = absl::ZeroDuration();
  notes_.Set(job_name_, "");
  store_.changes().Notify();
}

void JobRunner::Pause(absl::Duration* backoff, absl::Time deadline) {
  *backoff = std::clamp(*backoff * 2, kBackoffMin, kBackoffMax);
  const absl::Time until = std::min(deadline, clock_.Now() + *backoff);
  while (true) {
    const uint64_t seen = store_.changes().Version();
    if (clock_.Now() >= until || IsOver()) return;
    store_.changes().AwaitChange(seen, until);
  }
}

bool JobRunner::IsOver() {
  if (stopping_) return true;
  const auto unfinished = store_.UnfinishedJobs();
  return unfinished.ok() && std::find(unfinished->begin(), unfinished->end(), job_) == unfinished->end();
}

}  // namespace fsr
