// The steps of a job. Each is done once however often it is asked for, and writes its events with it.
#include <fmt/format.h>

#include "common/status_macros.h"
#include "server/store/rows.h"
#include "server/store/store.h"
#include "server/store/store_impl.h"

namespace fsr {
namespace {

constexpr char kHasBaseline[] = "SELECT COUNT(*) FROM evaluations WHERE job_id = ? AND purpose = 'BASELINE'";
constexpr char kHasRound[] = "SELECT COUNT(*) FROM rounds WHERE job_id = ? AND number = ?";
constexpr char kAddRound[] = "INSERT INTO rounds (job_id, number, started_at_us) VALUES (?, ?, ?)";
constexpr char kLastPrompt[] = "SELECT COALESCE(MAX(number), 0) FROM prompts WHERE job_id = ?";
constexpr char kLastDialogue[] = "SELECT COALESCE(MAX(dialogue), 0) FROM prompts WHERE job_id = ?";
constexpr char kAddPrompt[] = R"sql(
  INSERT INTO prompts (job_id, number, round, branch, dialogue, parent_candidate, system_text, user_text, temperature,
    change)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ''))sql";
constexpr char kHasCandidate[] = "SELECT COUNT(*) FROM candidates WHERE job_id = ? AND prompt = ?";
constexpr char kLastCandidate[] = "SELECT COALESCE(MAX(number), 0) FROM candidates WHERE job_id = ?";
constexpr char kChangeOfPrompt[] =
    "SELECT change FROM prompts WHERE job_id = ? AND number = ? AND completion IS NOT NULL";
constexpr char kAddCandidate[] = R"sql(
  INSERT INTO candidates (job_id, number, prompt, source, source_hash, duplicate_of, evaluation_id, refused, change,
    was_incumbent, created_at_us)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?))sql";
// A duplicate of a duplicate is one of the first.
constexpr char kOriginal[] = R"sql(
  SELECT COALESCE(duplicate_of, number), evaluation_id, refused FROM candidates WHERE job_id = ? AND number = ?)sql";
constexpr char kHasRemeasure[] =
    "SELECT COUNT(*) FROM evaluations WHERE job_id = ? AND purpose = 'REMEASURE' AND candidate = ?";
constexpr char kIsRight[] = R"sql(
  SELECT COUNT(*) FROM evaluations
  WHERE job_id = ? AND purpose = 'CANDIDATE' AND candidate = ? AND outcome = 'MEASURED')sql";
constexpr char kSetIncumbent[] = "UPDATE jobs SET incumbent = ? WHERE id = ?";
constexpr char kMarkIncumbent[] = "UPDATE candidates SET was_incumbent = 1 WHERE job_id = ? AND number = ?";

// 0 stands for none in C++ and is NULL in SQL.
std::optional<int> NullIfZero(int number) { return number == 0 ? std::nullopt : std::optional<int>(number); }

// What answers for a candidate: an evaluation, another candidate's, or a refusal.
struct Answer {
  std::optional<int> duplicate_of;
  std::optional<EvaluationId> evaluation;
  std::optional<Blob> refused;
};

absl::StatusOr<Answer> AnswerOfOriginal(SQLite::Database& database, const JobRow& job, int original) {
  SQLite::Statement query = Prepare(database, kOriginal, job.id, original);
  if (!query.executeStep()) {
    return absl::NotFoundError(fmt::format("{} has no candidate {} to be a duplicate of", job.job.name(), original));
  }
  Answer answer;
  answer.duplicate_of = ToInt(query.getColumn(0));
  if (!query.isColumnNull(1)) answer.evaluation = query.getColumn(1).getInt64();
  if (!query.isColumnNull(2)) answer.refused = Blob{query.getColumn(2).getString()};
  return answer;
}

absl::StatusOr<Answer> AnswerOf(SQLite::Database& database, const JobRow& job, int number,
                                const NewCandidate& candidate, int64_t now_us, int queued_max) {
  if (candidate.duplicate_of != 0) return AnswerOfOriginal(database, job, candidate.duplicate_of);
  Answer answer;
  if (candidate.refused.has_value()) {
    answer.refused = Serialized(*candidate.refused);
    return answer;
  }
  if (!candidate.spec.has_value()) {
    return absl::InvalidArgumentError("a candidate is a duplicate, or refused, or says what to evaluate");
  }
  const NewEvaluation evaluation = {job.id, EvaluationPurpose::kCandidate, number, job.task_version,
                                    job.job.device_kind()};
  ASSIGN_OR_RETURN(answer.evaluation, Enqueue(database, evaluation, *candidate.spec, now_us, queued_max));
  return answer;
}

// CandidateCreated, and CandidateEvaluated where the answer is known already: each candidate has one of either.
absl::Status AppendCandidateEvents(SQLite::Database& database, JobId id, int number, int64_t now_us) {
  ASSIGN_OR_RETURN(JobRow row, ReadJob(database, id));
  ASSIGN_OR_RETURN(v1::Candidate candidate, ReadCandidate(database, row.job, id, number, WithSource::kNo));
  v1::Event created;
  *created.mutable_candidate_created()->mutable_candidate() = candidate;
  RETURN_IF_ERROR(AppendEvent(database, id, row.job.name(), now_us, std::move(created)));
  if (candidate.evaluation().outcome() == v1::OUTCOME_UNSPECIFIED) return absl::OkStatus();
  v1::Event evaluated;
  *evaluated.mutable_candidate_evaluated()->mutable_candidate() = std::move(candidate);
  return AppendEvent(database, id, row.job.name(), now_us, std::move(evaluated));
}

}  // namespace

absl::Status Store::EnqueueBaseline(JobId job, const v1::EvaluationSpec& spec) {
  return impl_->Write([&](SQLite::Database& database) -> absl::Status {
    ASSIGN_OR_RETURN(JobRow row, ReadOpenJob(database, job));
    if (QueryInteger(database, kHasBaseline, job) > 0) return absl::OkStatus();
    const NewEvaluation evaluation = {job, EvaluationPurpose::kBaseline, std::nullopt, row.task_version,
                                      row.job.device_kind()};
    return Enqueue(database, evaluation, spec, impl_->NowMicros(), impl_->options().queued_evaluations_max).status();
  });
}

absl::Status Store::StartRound(JobId job, int round, const std::vector<NewPrompt>& prompts) {
  return impl_->Write([&](SQLite::Database& database) -> absl::Status {
    ASSIGN_OR_RETURN(JobRow row, ReadOpenJob(database, job));
    if (QueryInteger(database, kHasRound, job, round) > 0) {
      return absl::AlreadyExistsError(fmt::format("round {} of {} has begun already", round, row.job.name()));
    }
    const int64_t now_us = impl_->NowMicros();
    Execute(database, kAddRound, job, round, now_us);
    int64_t number = QueryInteger(database, kLastPrompt, job);
    int64_t last_dialogue = QueryInteger(database, kLastDialogue, job);
    v1::Event event;
    v1::Event::RoundStarted* started = event.mutable_round_started();
    started->set_round(static_cast<uint32_t>(round));
    started->set_prompt_count(static_cast<uint32_t>(prompts.size()));
    for (const NewPrompt& prompt : prompts) {
      const int64_t dialogue = prompt.dialogue != 0 ? prompt.dialogue : ++last_dialogue;
      Execute(database, kAddPrompt, job, ++number, round, v1::Branch_Name(prompt.branch), dialogue,
              NullIfZero(prompt.parent_candidate), prompt.system_text, prompt.user_text, prompt.temperature);
      ++(*started->mutable_branches())[v1::Branch_Name(prompt.branch)];
    }
    return AppendEvent(database, job, row.job.name(), now_us, std::move(event));
  });
}

absl::Status Store::StoreCompletion(JobId job, int prompt, const std::string& text, const std::string& change) {
  return impl_->Write([&](SQLite::Database& database) -> absl::Status {
    return KeepCompletion(database, job, {prompt, text, change}, impl_->NowMicros());
  });
}

absl::Status Store::AddCandidate(JobId job, const NewCandidate& candidate) {
  return impl_->Write([&](SQLite::Database& database) -> absl::Status {
    ASSIGN_OR_RETURN(JobRow row, ReadOpenJob(database, job));
    if (QueryInteger(database, kHasCandidate, job, candidate.prompt) > 0) return absl::OkStatus();
    SQLite::Statement change = Prepare(database, kChangeOfPrompt, job, candidate.prompt);
    if (!change.executeStep()) {
      return absl::FailedPreconditionError(
          fmt::format("prompt {} of {} has no completion to make a candidate of", candidate.prompt, row.job.name()));
    }
    const int64_t now_us = impl_->NowMicros();
    const int number = static_cast<int>(QueryInteger(database, kLastCandidate, job)) + 1;
    ASSIGN_OR_RETURN(Answer answer,
                     AnswerOf(database, row, number, candidate, now_us, impl_->options().queued_evaluations_max));
    Execute(database, kAddCandidate, job, number, candidate.prompt, candidate.source, candidate.source_hash,
            answer.duplicate_of, answer.evaluation, answer.refused, change.getColumn(0).getString(), now_us);
    return AppendCandidateEvents(database, job, number, now_us);
  });
}

absl::Status Store::Remeasure(JobId job, int candidate, const v1::EvaluationSpec& spec) {
  return impl_->Write([&](SQLite::Database& database) -> absl::Status {
    ASSIGN_OR_RETURN(JobRow row, ReadOpenJob(database, job));
    RETURN_IF_ERROR(ReadCandidate(database, row.job, job, candidate, WithSource::kNo).status());
    if (QueryInteger(database, kHasRemeasure, job, candidate) > 0) return absl::OkStatus();
    const NewEvaluation evaluation = {job, EvaluationPurpose::kRemeasure, candidate, row.task_version,
                                      row.job.device_kind()};
    return Enqueue(database, evaluation, spec, impl_->NowMicros(), impl_->options().queued_evaluations_max).status();
  });
}

absl::Status Store::Promote(JobId job, int candidate) {
  return impl_->Write([&](SQLite::Database& database) -> absl::Status {
    ASSIGN_OR_RETURN(JobRow row, ReadOpenJob(database, job));
    if (row.incumbent == candidate) return absl::OkStatus();
    if (QueryInteger(database, kIsRight, job, candidate) == 0) {
      return absl::FailedPreconditionError(
          fmt::format("candidate {} of {} cannot become the incumbent: it has no measurement of its own", candidate,
                      row.job.name()));
    }
    Execute(database, kSetIncumbent, candidate, job);
    Execute(database, kMarkIncumbent, job, candidate);
    ASSIGN_OR_RETURN(row, ReadJob(database, job));
    v1::Event event;
    ASSIGN_OR_RETURN(*event.mutable_incumbent_changed()->mutable_candidate(),
                     ReadCandidate(database, row.job, job, candidate, WithSource::kNo));
    return AppendEvent(database, job, row.job.name(), impl_->NowMicros(), std::move(event));
  });
}

}  // namespace fsr
