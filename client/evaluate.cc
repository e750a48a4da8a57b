// evaluate: judge and measure one kernel, without a search.
#include <fmt/format.h>

#include "client/commands.h"
#include "client/render.h"
#include "common/files.h"
#include "common/launch_plan.h"
#include "common/status_macros.h"
#include "common/task_loader.h"

namespace fsr {
namespace {

absl::StatusOr<v1::Evaluation> Evaluate(Session& session, const EvaluateOptions& options) {
  v1::EvaluateRequest request;
  ASSIGN_OR_RETURN(std::filesystem::path folder, FindTaskFolder(options.task));
  ASSIGN_OR_RETURN(*request.mutable_task(), LoadTask(folder));
  ASSIGN_OR_RETURN(*request.mutable_source(), ReadTextFile(options.file, kSourceBytesMax));
  *request.mutable_limits() = options.limits;
  request.set_seed(options.seed);
  ASSIGN_OR_RETURN(*request.mutable_device_kind(), session.DeviceKind(options.device));
  ASSIGN_OR_RETURN(SearchClient * client, session.Client());
  return client->Evaluate(request);
}

}  // namespace

int EvaluateCommand(Session& session, const EvaluateOptions& options) {
  auto evaluation = Evaluate(session, options);
  if (!evaluation.ok()) return ReportTrouble(evaluation.status());
  if (session.json()) {
    PrintJson(*evaluation);
  } else {
    fmt::print("{}", RenderEvaluation(*evaluation));
  }
  return evaluation->outcome() == v1::MEASURED ? kExitOk : kExitNegative;
}

}  // namespace fsr
