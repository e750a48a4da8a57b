#include "server/store/rows.h"

#include <fmt/format.h>

#include "common/status_macros.h"
#include "common/task_loader.h"

namespace fsr {
namespace {

constexpr char kReadJob[] = R"sql(
  SELECT j.name, j.state, t.name, j.device_kind, j.generator, j.options, j.prompts_hash, t.hash,
    (SELECT COALESCE(MAX(number), 0) FROM rounds WHERE job_id = j.id),
    (SELECT COALESCE(MAX(number), 0) FROM candidates WHERE job_id = j.id),
    (SELECT COUNT(*) FROM candidates WHERE job_id = j.id AND duplicate_of IS NOT NULL),
    (SELECT COUNT(*) FROM evaluations WHERE job_id = j.id AND purpose = 'CANDIDATE' AND state = 'FINISHED'),
    j.stop_reason, j.created_at_us, COALESCE(j.finished_at_us, 0), j.task_version_id, COALESCE(j.incumbent, 0)
  FROM jobs j JOIN task_versions t ON t.id = j.task_version_id
  WHERE j.id = ?)sql";

constexpr char kBaselineLatency[] = R"sql(
  SELECT latency_us, estimated FROM evaluations WHERE job_id = ? AND purpose = 'BASELINE' AND outcome = 'MEASURED')sql";

// The incumbent is the best by comparison; before there is one, the lowest latency stands in.
constexpr char kBest[] = R"sql(
  SELECT candidate, latency_us, estimated FROM evaluations
  WHERE job_id = ? AND purpose = 'CANDIDATE' AND state = 'FINISHED' AND outcome = 'MEASURED'
    AND latency_us IS NOT NULL AND (? = 0 OR candidate = ?)
  ORDER BY latency_us, candidate LIMIT 1)sql";

constexpr char kReadCandidate[] = R"sql(
  SELECT p.round, COALESCE(p.parent_candidate, 0), p.dialogue, c.source, c.source_hash, COALESCE(c.duplicate_of, 0),
    c.evaluation_id, COALESCE(e.result, c.refused), c.was_incumbent, c.change
  FROM candidates c
    JOIN prompts p ON p.job_id = c.job_id AND p.number = c.prompt
    LEFT JOIN evaluations e ON e.id = c.evaluation_id
  WHERE c.job_id = ? AND c.number = ?)sql";

constexpr char kAddEvent[] = "INSERT INTO events (job_id, sequence, content) VALUES (?, ?, ?)";
constexpr char kNextSequence[] = "SELECT COALESCE(MAX(sequence), 0) + 1 FROM events WHERE job_id = ?";

constexpr char kFindTask[] = "SELECT id FROM task_versions WHERE hash = ?";
constexpr char kAddTask[] =
    "INSERT INTO task_versions (hash, name, description, content, created_at_us) VALUES (?, ?, ?, ?, ?)";

constexpr char kHasPrompt[] = "SELECT COUNT(*) FROM prompts WHERE job_id = ? AND number = ?";
constexpr char kSetCompletion[] = R"sql(
  UPDATE prompts SET completion = ?, change = ?, answered_at_us = ?
  WHERE job_id = ? AND number = ? AND completion IS NULL)sql";

constexpr char kUsage[] = R"sql(
  SELECT SUM(state = 'ANSWERED'), SUM(state = 'FAILED'), SUM(state = 'LOST'), SUM(input_tokens),
    SUM(cached_input_tokens), SUM(cache_write_tokens), SUM(output_tokens), SUM(cost_usd)
  FROM model_calls WHERE job_id = ?)sql";
constexpr char kWaitingPrompts[] = "SELECT COUNT(*) FROM prompts WHERE job_id = ? AND completion IS NULL";

constexpr char kAddEvaluation[] = R"sql(
  INSERT INTO evaluations (job_id, purpose, candidate, task_version_id, device_kind, spec, state, enqueued_at_us)
  VALUES (?, ?, ?, ?, ?, ?, 'WAITING', ?))sql";

const char* PurposeName(EvaluationPurpose purpose) {
  switch (purpose) {
    case EvaluationPurpose::kBaseline:
      return "BASELINE";
    case EvaluationPurpose::kCandidate:
      return "CANDIDATE";
    case EvaluationPurpose::kRemeasure:
      return "REMEASURE";
    case EvaluationPurpose::kSingle:
      return "SINGLE";
  }
  return "";
}

void FillTimes(SQLite::Database& database, JobRow* row) {
  SQLite::Statement baseline = Prepare(database, kBaselineLatency, row->id);
  if (baseline.executeStep() && !baseline.isColumnNull(0)) {
    row->job.set_baseline_latency_us(baseline.getColumn(0).getDouble());
    row->job.set_estimated(baseline.getColumn(1).getInt() != 0);
  }
  SQLite::Statement best = Prepare(database, kBest, row->id, row->incumbent, row->incumbent);
  if (!best.executeStep()) return;
  row->best_candidate = ToInt(best.getColumn(0));
  row->job.set_best_candidate(CandidateName(row->job.name(), row->best_candidate));
  const double latency_us = best.getColumn(1).getDouble();
  row->job.set_best_latency_us(latency_us);
  row->job.set_estimated(best.getColumn(2).getInt() != 0);
  if (latency_us > 0) row->job.set_speedup(row->job.baseline_latency_us() / latency_us);
}

void FillWaiting(SQLite::Database& database, JobRow* row) {
  if (row->job.generator().name() != kMailbox || HasEnded(row->job.state())) return;
  row->job.set_waiting_prompt_count(static_cast<uint32_t>(QueryInteger(database, kWaitingPrompts, row->id)));
}

}  // namespace

bool HasEnded(v1::Job::State state) {
  return state == v1::Job::FINISHED || state == v1::Job::CANCELLED || state == v1::Job::FAILED;
}

absl::StatusOr<JobRow> ReadJob(SQLite::Database& database, JobId job) {
  SQLite::Statement query = Prepare(database, kReadJob, job);
  if (!query.executeStep()) return absl::NotFoundError(fmt::format("there is no job with the number {}", job));
  JobRow row;
  row.id = job;
  v1::Job::State state = v1::Job::STATE_UNSPECIFIED;
  v1::Job::State_Parse(query.getColumn(1).getString(), &state);
  row.job.set_name(query.getColumn(0).getString());
  row.job.set_state(state);
  row.job.set_task(query.getColumn(2).getString());
  row.job.set_device_kind(query.getColumn(3).getString());
  ASSIGN_OR_RETURN(*row.job.mutable_generator(), ParseColumn<v1::GeneratorSpec>(query.getColumn(4)));
  ASSIGN_OR_RETURN(*row.job.mutable_options(), ParseColumn<v1::JobOptions>(query.getColumn(5)));
  row.job.set_prompts_hash(query.getColumn(6).getString());
  row.job.set_task_hash(query.getColumn(7).getString());
  row.job.set_round_count(query.getColumn(8).getUInt());
  row.job.set_candidate_count(query.getColumn(9).getUInt());
  row.job.set_duplicate_count(query.getColumn(10).getUInt());
  row.job.set_evaluation_count(query.getColumn(11).getUInt());
  row.job.set_stop_reason(query.getColumn(12).getString());
  row.job.set_created_at_us(query.getColumn(13).getInt64());
  row.job.set_finished_at_us(query.getColumn(14).getInt64());
  row.task_version = query.getColumn(15).getInt64();
  row.incumbent = ToInt(query.getColumn(16));
  FillTimes(database, &row);
  *row.job.mutable_usage() = ReadUsage(database, job);
  FillWaiting(database, &row);
  return row;
}

absl::StatusOr<JobRow> ReadOpenJob(SQLite::Database& database, JobId job) {
  ASSIGN_OR_RETURN(JobRow row, ReadJob(database, job));
  if (HasEnded(row.job.state())) {
    return absl::FailedPreconditionError(
        fmt::format("{} has already ended ({})", row.job.name(), v1::Job::State_Name(row.job.state())));
  }
  return row;
}

absl::StatusOr<JobId> FindJobRow(SQLite::Database& database, const std::string& name) {
  SQLite::Statement query = Prepare(database, "SELECT id FROM jobs WHERE name = ?", name);
  if (query.executeStep()) return query.getColumn(0).getInt64();
  return absl::NotFoundError(fmt::format("there is no job \"{}\" here: `fsr jobs` lists those there are", name));
}

v1::Usage ReadUsage(SQLite::Database& database, JobId job) {
  SQLite::Statement query = Prepare(database, kUsage, job);
  query.executeStep();
  const auto count = [&](int column) { return static_cast<uint64_t>(query.getColumn(column).getInt64()); };
  v1::Usage usage;
  usage.set_answered_call_count(count(0));
  usage.set_failed_call_count(count(1));
  usage.set_lost_call_count(count(2));
  usage.set_input_tokens(count(3));
  usage.set_cached_input_tokens(count(4));
  usage.set_cache_write_tokens(count(5));
  usage.set_output_tokens(count(6));
  usage.set_cost_usd(query.getColumn(7).getDouble());
  return usage;
}

v1::Job Shown(v1::Job job) {
  for (auto& [name, value] : *job.mutable_generator()->mutable_options()) {
    if (value.size() > kOptionShownBytesMax) value = fmt::format("({} bytes)", value.size());
  }
  return job;
}

absl::StatusOr<v1::Candidate> ReadCandidate(SQLite::Database& database, const v1::Job& job, JobId id, int number,
                                            WithSource with_source) {
  SQLite::Statement query = Prepare(database, kReadCandidate, id, number);
  if (!query.executeStep()) {
    return absl::NotFoundError(
        fmt::format("{} has no candidate {}: it has {} of them", job.name(), number, job.candidate_count()));
  }
  v1::Candidate candidate;
  candidate.set_name(CandidateName(job.name(), number));
  candidate.set_job(job.name());
  candidate.set_round(query.getColumn(0).getUInt());
  if (const int parent = ToInt(query.getColumn(1)); parent != 0) {
    candidate.set_parent(CandidateName(job.name(), parent));
  }
  candidate.set_dialogue(DialogueName(job.name(), ToInt(query.getColumn(2))));
  if (with_source == WithSource::kYes) candidate.set_source(query.getColumn(3).getString());
  candidate.set_source_hash(query.getColumn(4).getString());
  if (const int original = ToInt(query.getColumn(5)); original != 0) {
    candidate.set_duplicate_of(CandidateName(job.name(), original));
  }
  if (!query.isColumnNull(7)) {
    ASSIGN_OR_RETURN(*candidate.mutable_evaluation(), ParseColumn<v1::Evaluation>(query.getColumn(7)));
  } else {
    candidate.mutable_evaluation()->set_id(query.getColumn(6).getString());
  }
  candidate.set_incumbent(query.getColumn(8).getInt() != 0);
  candidate.set_change(query.getColumn(9).getString());
  // A copy of the baseline has its result without an evaluation of its own.
  const v1::Evaluation& evaluation = candidate.evaluation();
  const double latency_us = evaluation.outcome() == v1::MEASURED ? evaluation.measurement().latency_us() : 0;
  if (latency_us > 0) candidate.set_speedup(job.baseline_latency_us() / latency_us);
  return candidate;
}

absl::Status AppendEvent(SQLite::Database& database, JobId id, const std::string& job, int64_t at_us, v1::Event event) {
  const int64_t sequence = QueryInteger(database, kNextSequence, id);
  event.set_sequence(static_cast<uint64_t>(sequence));
  event.set_at_us(at_us);
  event.set_job(job);
  Execute(database, kAddEvent, id, sequence, Serialized(event));
  return absl::OkStatus();
}

absl::Status AppendStateEvent(SQLite::Database& database, JobId id, int64_t at_us) {
  ASSIGN_OR_RETURN(JobRow row, ReadJob(database, id));
  v1::Event event;
  *event.mutable_job_state_changed()->mutable_job() = Shown(row.job);
  return AppendEvent(database, id, row.job.name(), at_us, std::move(event));
}

int64_t KeepTask(SQLite::Database& database, const v1::Task& task, int64_t at_us) {
  const std::string hash = TaskHash(task);
  SQLite::Statement known = Prepare(database, kFindTask, hash);
  if (known.executeStep()) return known.getColumn(0).getInt64();
  Execute(database, kAddTask, hash, task.name(), task.description(), Serialized(task), at_us);
  return database.getLastInsertRowid();
}

absl::StatusOr<v1::Task> ReadTask(SQLite::Database& database, int64_t task_version) {
  SQLite::Statement query = Prepare(database, "SELECT content FROM task_versions WHERE id = ?", task_version);
  if (!query.executeStep()) return absl::DataLossError(fmt::format("task version {} is missing", task_version));
  return ParseColumn<v1::Task>(query.getColumn(0));
}

absl::Status KeepCompletion(SQLite::Database& database, JobId job, const Store::NewCompletion& completion,
                            int64_t at_us) {
  if (QueryInteger(database, kHasPrompt, job, completion.prompt) == 0) {
    return absl::NotFoundError(fmt::format("job {} has no prompt {}", job, completion.prompt));
  }
  Execute(database, kSetCompletion, completion.text, completion.change, at_us, job, completion.prompt);
  return absl::OkStatus();
}

absl::StatusOr<EvaluationId> Enqueue(SQLite::Database& database, const NewEvaluation& what, v1::EvaluationSpec spec,
                                     int64_t at_us, int queued_max) {
  if (QueryInteger(database, "SELECT COUNT(*) FROM evaluations WHERE state = 'WAITING'") >= queued_max) {
    return absl::ResourceExhaustedError(fmt::format(
        "{} evaluations wait already, which is the most that is kept: add workers, or wait until some are done",
        queued_max));
  }
  spec.clear_task();
  Execute(database, kAddEvaluation, what.job, PurposeName(what.purpose), what.candidate, what.task_version,
          what.device_kind, Serialized(spec), at_us);
  return database.getLastInsertRowid();
}

}  // namespace fsr
