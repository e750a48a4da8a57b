// Evaluations without a job.
#include <fmt/format.h>

#include "common/status_macros.h"
#include "server/store/rows.h"
#include "server/store/store.h"
#include "server/store/store_impl.h"

namespace fsr {
namespace {

constexpr char kResult[] = "SELECT state, result FROM evaluations WHERE id = ?";
// ? is one evaluation, or NULL for all.
constexpr char kCancelAttempts[] = R"sql(
  UPDATE attempts SET state = 'CANCELLED', reason = 'whoever asked for it has gone', ended_at_us = ?
  WHERE state = 'OPEN' AND evaluation_id IN
    (SELECT id FROM evaluations WHERE purpose = 'SINGLE' AND state = 'LEASED' AND (? IS NULL OR id = ?)))sql";
constexpr char kCancel[] = R"sql(
  UPDATE evaluations SET state = 'CANCELLED', ended_at_us = ?
  WHERE purpose = 'SINGLE' AND state IN ('WAITING', 'LEASED') AND (? IS NULL OR id = ?))sql";

absl::Status Cancel(SQLite::Database& database, std::optional<EvaluationId> which, int64_t now_us) {
  Execute(database, kCancelAttempts, now_us, which, which);
  Execute(database, kCancel, now_us, which, which);
  return absl::OkStatus();
}

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
  return impl_->Write([&](SQLite::Database& database) { return Cancel(database, evaluation, impl_->NowMicros()); });
}

absl::Status Store::CancelAllSingle() {
  return impl_->Write([&](SQLite::Database& database) { return Cancel(database, std::nullopt, impl_->NowMicros()); });
}

}  // namespace fsr
