// Attempts: handed out under a lease, ended once, by one compare-and-set of their state.
#include <fmt/format.h>

#include <cmath>

#include "common/status_macros.h"
#include "server/store/rows.h"
#include "server/store/store.h"
#include "server/store/store_impl.h"

namespace fsr {
namespace {

// Two look-ups in the index, and no sort of the queue.
constexpr char kOldestWaiting[] = R"sql(
  SELECT MIN(id) FROM (
    SELECT MIN(id) AS id FROM evaluations WHERE state = 'WAITING' AND device_kind = ?
    UNION ALL
    SELECT MIN(id) AS id FROM evaluations WHERE state = 'WAITING' AND device_kind = ?))sql";
constexpr char kBaselineOfSameJob[] = R"sql(
  SELECT b.id FROM evaluations e JOIN evaluations b ON b.job_id = e.job_id
  WHERE e.id = ? AND b.purpose = 'BASELINE' AND b.state = 'WAITING')sql";
constexpr char kSetLeased[] = "UPDATE evaluations SET state = 'LEASED' WHERE id = ?";
constexpr char kAddAttempt[] = R"sql(
  INSERT INTO attempts (lease_id, evaluation_id, number, worker_id, boot_id, state, reason, leased_at_us)
  VALUES (?, ?, (SELECT COALESCE(MAX(number), 0) + 1 FROM attempts WHERE evaluation_id = ?), ?, ?, 'OPEN', '', ?))sql";
constexpr char kAssignment[] = R"sql(
  SELECT a.evaluation_id, a.number, e.spec, e.task_version_id, e.purpose, e.job_id
  FROM attempts a JOIN evaluations e ON e.id = a.evaluation_id
  WHERE a.lease_id = ? AND a.state = 'OPEN')sql";

constexpr char kOpenAttempts[] = R"sql(
  SELECT lease_id, evaluation_id, worker_id, boot_id, number, leased_at_us FROM attempts
  WHERE state = 'OPEN' ORDER BY leased_at_us, lease_id)sql";
constexpr char kOpenAttemptsOf[] = R"sql(
  SELECT lease_id, evaluation_id, worker_id, boot_id, number, leased_at_us FROM attempts
  WHERE state = 'OPEN' AND worker_id = ? ORDER BY leased_at_us, lease_id)sql";

constexpr char kEndAttempt[] = R"sql(
  UPDATE attempts SET state = ?, reason = ?, ended_at_us = ? WHERE lease_id = ? AND state = 'OPEN'
  RETURNING evaluation_id, number, worker_id)sql";
constexpr char kSetWaiting[] = "UPDATE evaluations SET state = 'WAITING' WHERE id = ?";
constexpr char kSetFinished[] = R"sql(
  UPDATE evaluations
  SET state = 'FINISHED', outcome = ?, latency_us = ?, estimated = ?, measured_on = ?, result = ?, ended_at_us = ?,
    program_hash = ?
  WHERE id = ?)sql";
// Not run, since its program was the same as another's.
constexpr char kSetSpared[] = "UPDATE evaluations SET state = 'CANCELLED', ended_at_us = ? WHERE id = ?";
constexpr char kOwner[] = "SELECT job_id, purpose, device_kind FROM evaluations WHERE id = ?";
constexpr char kCandidatesOf[] = "SELECT number FROM candidates WHERE job_id = ? AND evaluation_id = ? ORDER BY number";

constexpr char kCountEnded[] = "SELECT COUNT(*) FROM attempts WHERE evaluation_id = ? AND state = ?";
constexpr char kEndedAttempts[] = R"sql(
  SELECT number, worker_id, state, reason FROM attempts
  WHERE evaluation_id = ? AND state IN ('LOST', 'RETURNED') ORDER BY number)sql";

absl::StatusOr<std::optional<v1::Assignment>> ReadAssignment(SQLite::Database& database, const std::string& lease_id) {
  SQLite::Statement query = Prepare(database, kAssignment, lease_id);
  if (!query.executeStep()) return std::nullopt;
  v1::Assignment assignment;
  assignment.set_lease_id(lease_id);
  assignment.set_evaluation_id(query.getColumn(0).getString());
  assignment.set_attempt(query.getColumn(1).getUInt());
  ASSIGN_OR_RETURN(*assignment.mutable_spec(), ParseColumn<v1::EvaluationSpec>(query.getColumn(2)));
  ASSIGN_OR_RETURN(*assignment.mutable_spec()->mutable_task(), ReadTask(database, query.getColumn(3).getInt64()));
  if (query.getColumn(4).getString() == "CANDIDATE") {
    FillKnownPrograms(database, query.getColumn(5).getInt64(), assignment.mutable_spec());
  }
  return assignment;
}

// The evaluation to hand out next; 0 if none waits.
EvaluationId NextWaiting(SQLite::Database& database, const v1::DeviceFacts& device) {
  const std::string any = device.simulated() ? device.kind() : std::string(kAnyCudaDevice);
  const EvaluationId oldest = QueryInteger(database, kOldestWaiting, device.kind(), any);
  if (oldest == 0) return 0;
  SQLite::Statement baseline = Prepare(database, kBaselineOfSameJob, oldest);
  return baseline.executeStep() ? baseline.getColumn(0).getInt64() : oldest;
}

std::vector<Store::OpenAttempt> ReadOpenAttempts(SQLite::Statement query) {
  std::vector<Store::OpenAttempt> attempts;
  while (query.executeStep()) {
    attempts.push_back({.lease_id = query.getColumn(0).getString(),
                        .evaluation = query.getColumn(1).getInt64(),
                        .worker_id = query.getColumn(2).getString(),
                        .boot_id = query.getColumn(3).getString(),
                        .attempt = ToInt(query.getColumn(4)),
                        .leased_at = absl::FromUnixMicros(query.getColumn(5).getInt64())});
  }
  return attempts;
}

struct EndedAttempt {
  EvaluationId evaluation = 0;
  uint32_t number = 0;
  std::string worker_id;
};
// nullopt if the lease is not open: then nothing has changed.
std::optional<EndedAttempt> EndAttempt(SQLite::Database& database, const std::string& lease_id, const char* state,
                                       const std::string& reason, int64_t now_us) {
  SQLite::Statement update = Prepare(database, kEndAttempt, state, reason, now_us, lease_id);
  if (!update.executeStep()) return std::nullopt;
  EndedAttempt ended{update.getColumn(0).getInt64(), update.getColumn(1).getUInt(), update.getColumn(2).getString()};
  while (update.executeStep()) {  // to its end, so that it no longer holds up the commit
  }
  return ended;
}

absl::Status AppendBaselineEvent(SQLite::Database& database, JobId job, const v1::Evaluation& result, int64_t now_us) {
  ASSIGN_OR_RETURN(const JobRow row, ReadJob(database, job));
  v1::Event event;
  *event.mutable_baseline_measured()->mutable_evaluation() = result;
  return AppendEvent(database, job, row.job.name(), now_us, std::move(event));
}

absl::Status AppendCandidateEvents(SQLite::Database& database, JobId job, const std::vector<int>& candidates,
                                   int64_t now_us) {
  ASSIGN_OR_RETURN(const JobRow row, ReadJob(database, job));
  for (const int candidate : candidates) {
    v1::Event event;
    ASSIGN_OR_RETURN(*event.mutable_candidate_evaluated()->mutable_candidate(),
                     ReadCandidate(database, row.job, job, candidate, WithSource::kNo));
    RETURN_IF_ERROR(AppendEvent(database, job, row.job.name(), now_us, std::move(event)));
  }
  return absl::OkStatus();
}

// Its own candidate first, then those it answers for as well.
std::vector<int> CandidatesOf(SQLite::Database& database, JobId job, EvaluationId evaluation) {
  std::vector<int> numbers;
  SQLite::Statement query = Prepare(database, kCandidatesOf, job, evaluation);
  while (query.executeStep()) numbers.push_back(ToInt(query.getColumn(0)));
  return numbers;
}

// `device_kind` is what was asked for, where the result does not say what it was measured on.
void SetFinished(SQLite::Database& database, EvaluationId evaluation, const v1::Evaluation& result,
                 const std::string& device_kind, int64_t now_us) {
  std::optional<double> latency_us;
  std::optional<int> estimated;
  std::optional<std::string> measured_on, program_hash;
  const v1::Measurement& measurement = result.measurement();
  if (result.outcome() == v1::MEASURED && std::isfinite(measurement.latency_us()) && measurement.latency_us() > 0) {
    latency_us = measurement.latency_us();
    estimated = measurement.estimated() ? 1 : 0;
    measured_on = measurement.device().kind().empty() ? device_kind : measurement.device().kind();
  }
  if (!result.program_hash().empty()) program_hash = result.program_hash();
  Execute(database, kSetFinished, v1::Outcome_Name(result.outcome()), latency_us, estimated, measured_on,
          Serialized(result), now_us, program_hash, evaluation);
}

absl::Status RecordResult(SQLite::Database& database, const EndedAttempt& attempt, v1::Evaluation result,
                          int64_t now_us) {
  result.set_id(std::to_string(attempt.evaluation));
  result.set_worker(attempt.worker_id);
  result.set_attempt(attempt.number);
  SQLite::Statement owner = Prepare(database, kOwner, attempt.evaluation);
  owner.executeStep();
  const JobId job = owner.getColumn(0).getInt64();
  const std::string purpose = owner.getColumn(1).getString();
  std::vector<int> candidates;
  bool has_twin = false;
  if (purpose == "CANDIDATE") {
    candidates = CandidatesOf(database, job, attempt.evaluation);
    has_twin = AnswerByTwin(database, job, attempt.evaluation, result.program_hash());
  }
  if (has_twin && !result.same_program_as().empty()) {
    Execute(database, kSetSpared, now_us, attempt.evaluation);
  } else {
    SetFinished(database, attempt.evaluation, result, owner.getColumn(2).getString(), now_us);
  }
  if (purpose == "BASELINE") return AppendBaselineEvent(database, job, result, now_us);
  return candidates.empty() ? absl::OkStatus() : AppendCandidateEvents(database, job, candidates, now_us);
}

// What stands for the result once nobody could bring one.
v1::Evaluation NoResult(SQLite::Database& database, EvaluationId evaluation) {
  std::string attempts;
  int count = 0;
  SQLite::Statement query = Prepare(database, kEndedAttempts, evaluation);
  while (query.executeStep()) {
    ++count;
    attempts += fmt::format(
        " Attempt {} on worker {} {}: {}.", query.getColumn(0).getInt(), query.getColumn(1).getString(),
        query.getColumn(2).getString() == "LOST" ? "was lost" : "was given back", query.getColumn(3).getString());
  }
  v1::Evaluation result;
  result.set_outcome(v1::UNSUPPORTED);
  result.set_signature("unsupported:no_result");
  result.set_diagnosis(
      fmt::format("No worker brought a result in {} attempts, so it is not tried again. This is no finding about the "
                  "kernel: look at the workers first.{}",
                  count, attempts));
  return result;
}

}  // namespace

absl::StatusOr<std::optional<v1::Assignment>> Store::Lease(const v1::DeviceFacts& device, const std::string& worker_id,
                                                           const std::string& boot_id, const std::string& lease_id) {
  return impl_->Write([&](SQLite::Database& database) -> absl::StatusOr<std::optional<v1::Assignment>> {
    const EvaluationId evaluation = NextWaiting(database, device);
    if (evaluation == 0) return std::nullopt;
    Execute(database, kSetLeased, evaluation);
    Execute(database, kAddAttempt, lease_id, evaluation, evaluation, worker_id, boot_id, impl_->NowMicros());
    return ReadAssignment(database, lease_id);
  });
}

absl::StatusOr<std::vector<Store::OpenAttempt>> Store::OpenAttempts() {
  return impl_->Read([](SQLite::Database& database) -> absl::StatusOr<std::vector<OpenAttempt>> {
    return ReadOpenAttempts(Prepare(database, kOpenAttempts));
  });
}

absl::StatusOr<std::vector<Store::OpenAttempt>> Store::OpenAttemptsOf(const std::string& worker_id) {
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<std::vector<OpenAttempt>> {
    return ReadOpenAttempts(Prepare(database, kOpenAttemptsOf, worker_id));
  });
}

absl::StatusOr<std::optional<v1::Assignment>> Store::AssignmentOf(const std::string& lease_id) {
  return impl_->Read([&](SQLite::Database& database) { return ReadAssignment(database, lease_id); });
}

absl::StatusOr<bool> Store::Finish(const std::string& lease_id, v1::Evaluation result) {
  if (result.outcome() == v1::OUTCOME_UNSPECIFIED || !v1::Outcome_IsValid(result.outcome())) {
    return absl::InvalidArgumentError(
        fmt::format("{} is no outcome of a finished evaluation", static_cast<int>(result.outcome())));
  }
  return impl_->Write([&](SQLite::Database& database) -> absl::StatusOr<bool> {
    const int64_t now_us = impl_->NowMicros();
    const std::optional<EndedAttempt> ended = EndAttempt(database, lease_id, "FINISHED", "", now_us);
    if (!ended.has_value()) return false;
    RETURN_IF_ERROR(RecordResult(database, *ended, std::move(result), now_us));
    return true;
  });
}

absl::StatusOr<bool> Store::Release(const std::string& lease_id, AttemptEnd how, const std::string& reason,
                                    int count_max) {
  const char* const state = how == AttemptEnd::kLost ? "LOST" : "RETURNED";
  return impl_->Write([&](SQLite::Database& database) -> absl::StatusOr<bool> {
    const int64_t now_us = impl_->NowMicros();
    const std::optional<EndedAttempt> ended = EndAttempt(database, lease_id, state, reason, now_us);
    if (!ended.has_value()) return false;
    if (QueryInteger(database, kCountEnded, ended->evaluation, state) < count_max) {
      Execute(database, kSetWaiting, ended->evaluation);
      return true;
    }
    RETURN_IF_ERROR(RecordResult(database, *ended, NoResult(database, ended->evaluation), now_us));
    return true;
  });
}

}  // namespace fsr
