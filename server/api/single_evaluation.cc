#include "server/api/single_evaluation.h"

#include <fmt/format.h>

#include <optional>

#include "common/launch_plan.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "common/task_loader.h"
#include "server/search/job_request.h"

namespace fsr {
namespace {

absl::StatusOr<v1::EvaluationSpec> SpecOf(const v1::EvaluateRequest& request) {
  RETURN_IF_ERROR(CheckTask(request.task()));
  if (request.device_kind().empty()) {
    return absl::InvalidArgumentError(
        "device_kind is missing: say on which kind of device to evaluate, such as \"sim:h200\" or \"cuda\"");
  }
  if (request.source().empty() || request.source().size() > kSourceBytesMax) {
    return absl::InvalidArgumentError(
        fmt::format("source has {} bytes: it must have 1 to {}", request.source().size(), kSourceBytesMax));
  }
  RETURN_IF_ERROR(CheckLimits(request.limits(), "limits"));
  v1::EvaluationSpec spec;
  *spec.mutable_task() = request.task();
  spec.set_source(request.source());
  spec.set_seed(request.seed() != 0 ? request.seed() : RandomSeed());
  *spec.mutable_limits() = request.limits();
  v1::Reference* baseline = spec.add_references();
  baseline->set_against(v1::Comparison::BASELINE);
  baseline->set_source(request.task().baseline_source());
  return spec;
}

absl::StatusOr<v1::Evaluation> Await(EvaluationId evaluation, Store* store, Clock* clock, const Waiting::Place& place,
                                     const std::function<bool()>& client_gone) {
  while (true) {
    const uint64_t seen = store->changes().Version();
    ASSIGN_OR_RETURN(std::optional<v1::Evaluation> result, store->ResultOf(evaluation));
    if (result.has_value()) return *std::move(result);
    RETURN_IF_ERROR(place.Check());
    if (client_gone()) return absl::CancelledError("the client has gone");
    store->changes().AwaitChange(seen, clock->Now() + kClientCheckInterval);
  }
}

}  // namespace

absl::StatusOr<v1::Evaluation> EvaluateSingle(const v1::EvaluateRequest& request, Store* store, Clock* clock,
                                              Waiting* waiting, const std::function<bool()>& client_gone) {
  ASSIGN_OR_RETURN(const v1::EvaluationSpec spec, SpecOf(request));
  const Waiting::Place place(waiting);
  RETURN_IF_ERROR(place.Check());
  ASSIGN_OR_RETURN(const EvaluationId evaluation, store->EnqueueSingle(spec, request.device_kind()));
  absl::StatusOr<v1::Evaluation> result = Await(evaluation, store, clock, place, client_gone);
  if (!result.ok()) RETURN_IF_ERROR(store->CancelSingle(evaluation));
  if (result.ok() && result->signature() == "task_fault") return absl::FailedPreconditionError(result->diagnosis());
  return result;
}

}  // namespace fsr
