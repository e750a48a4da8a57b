// Jobs: made, found, begun, ended, and all the facts about one.
#include <fmt/format.h>

#include "common/status_macros.h"
#include "server/store/rows.h"
#include "server/store/store.h"
#include "server/store/store_impl.h"

namespace fsr {
namespace {

constexpr char kFindRequest[] = "SELECT id, content_hash FROM jobs WHERE request_id = ?";
constexpr char kAddJob[] = R"sql(
  INSERT INTO jobs (id, name, request_id, content_hash, task_version_id, device_kind, generator, options,
    prompt_templates, prompts_hash, state, stop_reason, created_at_us)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'QUEUED', '', ?))sql";

// The job that a request with this id has made before; nullopt if there is none.
absl::StatusOr<std::optional<v1::Job>> JobOfRequest(SQLite::Database& database, const std::string& request_id,
                                                    const std::string& content_hash) {
  if (request_id.empty()) return std::nullopt;
  SQLite::Statement query = Prepare(database, kFindRequest, request_id);
  if (!query.executeStep()) return std::nullopt;
  ASSIGN_OR_RETURN(JobRow row, ReadJob(database, query.getColumn(0).getInt64()));
  if (query.getColumn(1).getString() == content_hash) return Shown(row.job);
  return absl::AlreadyExistsError(
      fmt::format("the request id \"{}\" was used for {} with another content: send a new request id for a new job",
                  request_id, row.job.name()));
}

absl::StatusOr<v1::Job> AddJob(SQLite::Database& database, const v1::CreateJobRequest& request,
                               const std::string& prompts_hash, const std::string& content_hash, int64_t now_us) {
  const JobId id = QueryInteger(database, "SELECT COALESCE(MAX(id), 0) + 1 FROM jobs");
  v1::CreateJobRequest templates;
  *templates.mutable_prompt_templates() = request.prompt_templates();
  std::optional<std::string> request_id;
  if (!request.request_id().empty()) request_id = request.request_id();
  Execute(database, kAddJob, id, fmt::format("jobs/{}-{}", request.task().name(), id), request_id, content_hash,
          KeepTask(database, request.task(), now_us), request.device_kind(), Serialized(request.generator()),
          Serialized(request.options()), Serialized(templates), prompts_hash, now_us);
  RETURN_IF_ERROR(AppendStateEvent(database, id, now_us));
  ASSIGN_OR_RETURN(JobRow row, ReadJob(database, id));
  return Shown(row.job);
}

constexpr char kSetState[] = "UPDATE jobs SET state = ?, stop_reason = ?, finished_at_us = ? WHERE id = ?";
constexpr char kCancelAttempts[] = R"sql(
  UPDATE attempts SET state = 'CANCELLED', reason = 'the job has ended', ended_at_us = ?
  WHERE state = 'OPEN' AND evaluation_id IN (SELECT id FROM evaluations WHERE job_id = ? AND state = 'LEASED'))sql";
constexpr char kCancelEvaluations[] = R"sql(
  UPDATE evaluations SET state = 'CANCELLED', ended_at_us = ? WHERE job_id = ? AND state IN ('WAITING', 'LEASED'))sql";

constexpr char kLoadTemplates[] = "SELECT prompt_templates FROM jobs WHERE id = ?";
constexpr char kLoadBaseline[] = "SELECT id, result FROM evaluations WHERE job_id = ? AND purpose = 'BASELINE'";
constexpr char kLoadPrompts[] = R"sql(
  SELECT p.number, p.round, p.branch, p.dialogue, COALESCE(p.parent_candidate, 0), p.system_text, p.user_text,
    p.completion, p.change, COALESCE(c.number, 0), p.temperature
  FROM prompts p LEFT JOIN candidates c ON c.job_id = p.job_id AND c.prompt = p.number
  WHERE p.job_id = ? ORDER BY p.number)sql";
constexpr char kLoadCalls[] = R"sql(
  SELECT c.prompt, c.content FROM model_calls c JOIN prompts p ON p.job_id = c.job_id AND p.number = c.prompt
  WHERE c.job_id = ? AND p.completion IS NULL ORDER BY c.number)sql";
constexpr char kLoadCandidates[] = R"sql(
  SELECT c.number, p.round, c.prompt, COALESCE(p.parent_candidate, 0), p.dialogue, c.source, c.source_hash,
    COALESCE(c.duplicate_of, 0), COALESCE(c.evaluation_id, 0), c.was_incumbent, c.change, COALESCE(e.result, c.refused)
  FROM candidates c
    JOIN prompts p ON p.job_id = c.job_id AND p.number = c.prompt
    LEFT JOIN evaluations e ON e.id = c.evaluation_id
  WHERE c.job_id = ? ORDER BY c.number)sql";
constexpr char kLoadRemeasured[] = R"sql(
  SELECT candidate, result FROM evaluations WHERE job_id = ? AND purpose = 'REMEASURE' ORDER BY candidate)sql";

absl::StatusOr<std::optional<v1::Evaluation>> ParseResult(const SQLite::Column& column) {
  if (column.isNull()) return std::nullopt;
  ASSIGN_OR_RETURN(v1::Evaluation evaluation, ParseColumn<v1::Evaluation>(column));
  return evaluation;
}

void LoadPrompts(SQLite::Database& database, JobFacts* facts) {
  SQLite::Statement query = Prepare(database, kLoadPrompts, facts->id);
  while (query.executeStep()) {
    StoredPrompt& prompt = facts->prompts.emplace_back();
    prompt.number = ToInt(query.getColumn(0));
    prompt.round = ToInt(query.getColumn(1));
    v1::Branch_Parse(query.getColumn(2).getString(), &prompt.branch);
    prompt.dialogue = ToInt(query.getColumn(3));
    prompt.parent_candidate = ToInt(query.getColumn(4));
    prompt.system_text = query.getColumn(5).getString();
    prompt.user_text = query.getColumn(6).getString();
    if (!query.isColumnNull(7)) prompt.completion = query.getColumn(7).getString();
    prompt.change = query.getColumn(8).getString();
    prompt.candidate = ToInt(query.getColumn(9));
    if (!query.isColumnNull(10)) prompt.temperature = query.getColumn(10).getDouble();
  }
}

absl::Status LoadCalls(SQLite::Database& database, JobFacts* facts) {
  SQLite::Statement query = Prepare(database, kLoadCalls, facts->id);
  while (query.executeStep()) {
    // Prompts are numbered from 1 without gaps.
    StoredPrompt& prompt = facts->prompts.at(static_cast<size_t>(query.getColumn(0).getInt64()) - 1);
    ASSIGN_OR_RETURN(prompt.calls.emplace_back(), ParseColumn<v1::ModelCall>(query.getColumn(1)));
  }
  return absl::OkStatus();
}

absl::Status LoadCandidates(SQLite::Database& database, JobFacts* facts) {
  SQLite::Statement query = Prepare(database, kLoadCandidates, facts->id);
  while (query.executeStep()) {
    StoredCandidate& candidate = facts->candidates.emplace_back();
    candidate.number = ToInt(query.getColumn(0));
    candidate.round = ToInt(query.getColumn(1));
    candidate.prompt = ToInt(query.getColumn(2));
    candidate.parent_candidate = ToInt(query.getColumn(3));
    candidate.dialogue = ToInt(query.getColumn(4));
    candidate.source = query.getColumn(5).getString();
    candidate.source_hash = query.getColumn(6).getString();
    candidate.duplicate_of = ToInt(query.getColumn(7));
    candidate.evaluation = query.getColumn(8).getInt64();
    candidate.was_incumbent = query.getColumn(9).getInt() != 0;
    candidate.change = query.getColumn(10).getString();
    ASSIGN_OR_RETURN(candidate.result, ParseResult(query.getColumn(11)));
  }
  return absl::OkStatus();
}

absl::Status LoadEvaluations(SQLite::Database& database, JobFacts* facts) {
  SQLite::Statement baseline = Prepare(database, kLoadBaseline, facts->id);
  if (baseline.executeStep()) {
    facts->baseline_evaluation = baseline.getColumn(0).getInt64();
    ASSIGN_OR_RETURN(facts->baseline, ParseResult(baseline.getColumn(1)));
  }
  SQLite::Statement remeasured = Prepare(database, kLoadRemeasured, facts->id);
  while (remeasured.executeStep()) {
    ASSIGN_OR_RETURN(facts->remeasured[ToInt(remeasured.getColumn(0))], ParseResult(remeasured.getColumn(1)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Store::CreatedJob> Store::CreateJob(const v1::CreateJobRequest& request, const std::string& prompts_hash,
                                                   const std::string& content_hash) {
  if (request.request_id().size() > kRequestIdLengthMax) {
    return absl::InvalidArgumentError(fmt::format("request_id has {} characters, and {} is the most",
                                                  request.request_id().size(), kRequestIdLengthMax));
  }
  const std::string hash = content_hash.empty() ? ContentHash(request) : content_hash;
  return impl_->Write([&](SQLite::Database& database) -> absl::StatusOr<CreatedJob> {
    ASSIGN_OR_RETURN(std::optional<v1::Job> known, JobOfRequest(database, request.request_id(), hash));
    if (known.has_value()) return CreatedJob{*std::move(known), false};
    ASSIGN_OR_RETURN(v1::Job job, AddJob(database, request, prompts_hash, hash, impl_->NowMicros()));
    return CreatedJob{std::move(job), true};
  });
}

absl::StatusOr<JobId> Store::FindJob(const std::string& name) {
  return impl_->Read([&](SQLite::Database& database) { return FindJobRow(database, name); });
}

absl::StatusOr<bool> Store::HasJobEnded(JobId job) {
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<bool> {
    SQLite::Statement query = Prepare(database, "SELECT finished_at_us IS NOT NULL FROM jobs WHERE id = ?", job);
    if (!query.executeStep()) return absl::NotFoundError(fmt::format("there is no job with the number {}", job));
    return query.getColumn(0).getInt() != 0;
  });
}

absl::StatusOr<std::vector<JobId>> Store::UnfinishedJobs() {
  return impl_->Read([](SQLite::Database& database) -> absl::StatusOr<std::vector<JobId>> {
    std::vector<JobId> jobs;
    SQLite::Statement query(database, "SELECT id FROM jobs WHERE state IN ('QUEUED', 'RUNNING') ORDER BY id");
    while (query.executeStep()) jobs.push_back(query.getColumn(0).getInt64());
    return jobs;
  });
}

absl::StatusOr<JobFacts> Store::LoadFacts(JobId job) {
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<JobFacts> {
    ASSIGN_OR_RETURN(JobRow row, ReadJob(database, job));
    JobFacts facts;
    facts.id = job;
    facts.job = std::move(row.job);
    facts.incumbent = row.incumbent;
    ASSIGN_OR_RETURN(facts.task, ReadTask(database, row.task_version));
    SQLite::Statement templates = Prepare(database, kLoadTemplates, job);
    templates.executeStep();
    ASSIGN_OR_RETURN(auto overrides, ParseColumn<v1::CreateJobRequest>(templates.getColumn(0)));
    facts.prompt_templates.insert(overrides.prompt_templates().begin(), overrides.prompt_templates().end());
    facts.lessons = LessonsOf(database, job);
    LoadPrompts(database, &facts);
    RETURN_IF_ERROR(LoadCalls(database, &facts));
    RETURN_IF_ERROR(LoadCandidates(database, &facts));
    RETURN_IF_ERROR(LoadEvaluations(database, &facts));
    return facts;
  });
}

absl::Status Store::StartJob(JobId job) {
  return impl_->Write([&](SQLite::Database& database) -> absl::Status {
    ASSIGN_OR_RETURN(JobRow row, ReadOpenJob(database, job));
    if (row.job.state() == v1::Job::RUNNING) return absl::OkStatus();
    Execute(database, kSetState, "RUNNING", "", std::optional<int64_t>(), job);
    if (!row.job.options().strategy().no_memory()) {
      ASSIGN_OR_RETURN(const v1::Task task, ReadTask(database, row.task_version));
      ChooseLessons(database, row, task);
    }
    return AppendStateEvent(database, job, impl_->NowMicros());
  });
}

absl::Status Store::EndJob(JobId job, v1::Job::State state, const std::string& reason,
                           const std::optional<NewLesson>& lesson) {
  if (!HasEnded(state)) {
    return absl::InvalidArgumentError(fmt::format("a job cannot end as {}", v1::Job::State_Name(state)));
  }
  return impl_->Write([&](SQLite::Database& database) -> absl::Status {
    ASSIGN_OR_RETURN(const JobRow row, ReadOpenJob(database, job));
    const int64_t now_us = impl_->NowMicros();
    if (lesson.has_value()) {
      ASSIGN_OR_RETURN(const v1::Task task, ReadTask(database, row.task_version));
      KeepLesson(database, row, task, *lesson, now_us);
    }
    Execute(database, kCancelAttempts, now_us, job);
    Execute(database, kCancelEvaluations, now_us, job);
    Execute(database, kSetState, v1::Job::State_Name(state), reason, now_us, job);
    return AppendStateEvent(database, job, now_us);
  });
}

}  // namespace fsr
