// Calls to models: kept before they are made, and again with what they brought and cost.
#include <fmt/format.h>

#include "common/status_macros.h"
#include "server/store/rows.h"
#include "server/store/store.h"
#include "server/store/store_impl.h"

namespace fsr {
namespace {

constexpr char kLastCall[] = "SELECT COALESCE(MAX(number), 0) FROM model_calls WHERE job_id = ?";
constexpr char kAddCall[] = R"sql(
  INSERT INTO model_calls (job_id, number, prompt, state, input_tokens, cached_input_tokens, cache_write_tokens,
    output_tokens, cost_usd, content)
  VALUES (?, ?, ?, 'OPEN', 0, 0, 0, 0, 0, ?))sql";
constexpr char kEndCall[] = R"sql(
  UPDATE model_calls SET state = ?, input_tokens = ?, cached_input_tokens = ?, cache_write_tokens = ?, output_tokens = ?,
    cost_usd = ?, content = ?
  WHERE job_id = ? AND number = ? AND state = 'OPEN')sql";
constexpr char kCallContent[] = "SELECT state, content FROM model_calls WHERE job_id = ? AND number = ?";
constexpr char kListCalls[] = "SELECT content FROM model_calls WHERE job_id = ? ORDER BY number";

// What BeginCall has set stays.
absl::StatusOr<v1::ModelCall> Ended(const SQLite::Column& begun, v1::ModelCall call, int64_t now_us) {
  ASSIGN_OR_RETURN(const v1::ModelCall open, ParseColumn<v1::ModelCall>(begun));
  *call.mutable_prompts() = open.prompts();
  call.set_started_at_us(open.started_at_us());
  call.set_ended_at_us(now_us);
  return call;
}

absl::Status AppendCallEvent(SQLite::Database& database, JobId id, v1::ModelCall call, int64_t now_us) {
  ASSIGN_OR_RETURN(const JobRow row, ReadJob(database, id));
  call.clear_partial_answer();
  v1::Event event;
  *event.mutable_model_call_ended()->mutable_call() = std::move(call);
  return AppendEvent(database, id, row.job.name(), now_us, std::move(event));
}

}  // namespace

absl::StatusOr<uint32_t> Store::BeginCall(JobId job, v1::ModelCall call) {
  if (call.prompts().empty()) return absl::InvalidArgumentError("a call to a model answers at least one prompt");
  return impl_->Write([&](SQLite::Database& database) -> absl::StatusOr<uint32_t> {
    RETURN_IF_ERROR(ReadOpenJob(database, job).status());
    const auto number = static_cast<uint32_t>(QueryInteger(database, kLastCall, job) + 1);
    call.set_number(number);
    call.set_state(v1::ModelCall::OPEN);
    call.set_started_at_us(impl_->NowMicros());
    Execute(database, kAddCall, job, number, call.prompts(0), Serialized(call));
    return number;
  });
}

absl::Status Store::EndCall(JobId job, v1::ModelCall call, const std::vector<NewCompletion>& completions) {
  if (call.state() <= v1::ModelCall::OPEN) {
    return absl::InvalidArgumentError("a call ends as ANSWERED, FAILED or LOST");
  }
  return impl_->Write([&](SQLite::Database& database) -> absl::Status {
    SQLite::Statement query = Prepare(database, kCallContent, job, call.number());
    if (!query.executeStep()) {
      return absl::NotFoundError(fmt::format("job {} has no call {} to a model", job, call.number()));
    }
    if (query.getColumn(0).getString() != "OPEN") return absl::OkStatus();
    const int64_t now_us = impl_->NowMicros();
    ASSIGN_OR_RETURN(const v1::ModelCall ended, Ended(query.getColumn(1), std::move(call), now_us));
    const v1::Usage& usage = ended.usage();
    const auto signed_count = [](uint64_t count) { return static_cast<int64_t>(count); };
    Execute(database, kEndCall, v1::ModelCall::State_Name(ended.state()), signed_count(usage.input_tokens()),
            signed_count(usage.cached_input_tokens()), signed_count(usage.cache_write_tokens()),
            signed_count(usage.output_tokens()), usage.cost_usd(), Serialized(ended), job, ended.number());
    for (const NewCompletion& completion : completions) {
      RETURN_IF_ERROR(KeepCompletion(database, job, completion, now_us));
    }
    return AppendCallEvent(database, job, ended, now_us);
  });
}

absl::StatusOr<v1::Usage> Store::UsageOf(JobId job) {
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<v1::Usage> { return ReadUsage(database, job); });
}

absl::StatusOr<v1::ListModelCallsResponse> Store::ListModelCalls(const v1::ListModelCallsRequest& request) {
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<v1::ListModelCallsResponse> {
    ASSIGN_OR_RETURN(const JobId id, FindJobRow(database, request.job()));
    v1::ListModelCallsResponse response;
    SQLite::Statement query = Prepare(database, kListCalls, id);
    while (query.executeStep()) {
      v1::ModelCall* call = response.add_calls();
      ASSIGN_OR_RETURN(*call, ParseColumn<v1::ModelCall>(query.getColumn(0)));
      call->clear_partial_answer();
    }
    return response;
  });
}

}  // namespace fsr
