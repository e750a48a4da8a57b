// Evaluations without a job.
#include <fmt/format.h>

#include "common/status_macros.h"
#include "server/store/rows.h"
#include "server/store/store.h"
#include "server/store/store_impl.h"

namespace fsr {
namespace {

constexpr char kResult[] = "SELECT state, result FROM evaluations WHERE id = ?";
constexpr char kCancelAttempts[] = R"sql(
  UPDATE attempts SET state = 'CANCELLED', reason = 'whoever asked for it has gone', ended_at_us = ?
  WHERE evaluation_id = ? AND state = 'OPEN'
    AND EXISTS (SELECT 1 FROM evaluations e WHERE e.id = evaluation_id AND e.purpose = 'SINGLE'))sql";
constexpr char kCancel[] = R"sql(
  UPDATE evaluations SET state = 'CANCELLED', ended_at_us = ?
  WHERE id = ? AND purpose = 'SINGLE' AND state IN ('WAITING', 'LEASED'))sql";

}  // namespace

absl::StatusOr<EvaluationId> Store::EnqueueSingle(const v1::EvaluationSpec& spec, const std::string& device_kind) {
  return impl_->Write([&](SQLite::Database& database) -> absl::StatusOr<EvaluationId> {
    const int64_t now_us = impl_->NowMicros();
    const NewEvaluation evaluation = {std::nullopt, EvaluationPurpose::kSingle, std::nullopt,
                                      KeepTask(database, spec.task(), now_us), device_kind};
    return Enqueue(database, evaluation, spec, now_us, impl_->options().queued_evaluations_max);
  });
}

absl::StatusOr<std::optional<v1::Evaluation>> Store::ResultOf(EvaluationId evaluation) {
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<std::optional<v1::Evaluation>> {
    SQLite::Statement query = Prepare(database, kResult, evaluation);
    if (!query.executeStep()) return absl::NotFoundError(fmt::format("there is no evaluation {}", evaluation));
    if (query.getColumn(0).getString() == "CANCELLED") {
      return absl::FailedPreconditionError(fmt::format("evaluation {} was cancelled", evaluation));
    }
    if (query.isColumnNull(1)) return std::nullopt;
    ASSIGN_OR_RETURN(v1::Evaluation result, ParseColumn<v1::Evaluation>(query.getColumn(1)));
    return result;
  });
}

absl::Status Store::CancelSingle(EvaluationId evaluation) {
  return impl_->Write([&](SQLite::Database& database) -> absl::Status {
    const int64_t now_us = impl_->NowMicros();
    Execute(database, kCancelAttempts, now_us, evaluation);
    Execute(database, kCancel, now_us, evaluation);
    return absl::OkStatus();
  });
}

}  // namespace fsr
