#include "server/search/job_request.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "common/status_macros.h"
#include "common/task_loader.h"
#include "server/search/plan_round.h"

namespace fsr {
namespace {

absl::Status CheckNumber(const std::string& name, double value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} is {}: give 0 for none, or a positive number.", name, value));
}

absl::Status CheckWithin(const std::string& name, double value, double most) {
  if (value >= 0 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} is {}: it must be from 0 to {}.", name, value, most));
}

absl::Status CheckStrategy(const v1::SearchStrategy& strategy) {
  RETURN_IF_ERROR(CheckWithin("options.strategy.repair_share", strategy.repair_share(), 1));
  RETURN_IF_ERROR(CheckWithin("options.strategy.parents", strategy.parents(), kParentsMax));
  RETURN_IF_ERROR(CheckWithin("options.strategy.temperature_low", strategy.temperature_low(), kTemperatureMax));
  RETURN_IF_ERROR(CheckWithin("options.strategy.temperature_high", strategy.temperature_high(), kTemperatureMax));
  if (strategy.temperature_low() <= strategy.temperature_high()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "options.strategy.temperature_low is {} and temperature_high is {}: the low one must not be above the high one.",
      strategy.temperature_low(), strategy.temperature_high()));
}

absl::Status CheckOptions(const v1::JobOptions& options) {
  if (options.round_count_max() > kRoundsMax) {
    return absl::InvalidArgumentError(fmt::format("options.round_count_max is {}; at most {} rounds are allowed.",
                                                  options.round_count_max(), kRoundsMax));
  }
  if (options.candidates_per_round() > kCandidatesPerRoundMax) {
    return absl::InvalidArgumentError(
        fmt::format("options.candidates_per_round is {}; at most {} candidates a round are allowed.",
                    options.candidates_per_round(), kCandidatesPerRoundMax));
  }
  if (options.patience_rounds() > kRoundsMax) {
    return absl::InvalidArgumentError(
        fmt::format("options.patience_rounds is {}; at most {} are allowed, and 0 means never to stop for lack of "
                    "progress.",
                    options.patience_rounds(), kRoundsMax));
  }
  RETURN_IF_ERROR(CheckNumber("options.target_speedup", options.target_speedup()));
  RETURN_IF_ERROR(CheckNumber("options.target_latency_us", options.target_latency_us()));
  RETURN_IF_ERROR(CheckNumber("options.wall_seconds_max", options.wall_seconds_max()));
  RETURN_IF_ERROR(CheckStrategy(options.strategy()));
  return CheckLimits(options.limits(), "options.limits");
}

}  // namespace

absl::Status CheckLimits(const v1::Limits& limits, const std::string& where) {
  RETURN_IF_ERROR(CheckNumber(where + ".compile_seconds", limits.compile_seconds()));
  RETURN_IF_ERROR(CheckNumber(where + ".run_seconds", limits.run_seconds()));
  return CheckNumber(where + ".total_seconds", limits.total_seconds());
}

absl::StatusOr<std::string> CompleteJobRequest(const Coordinator::Options& options, v1::CreateJobRequest* request) {
  if (request->request_id().size() > kRequestIdLengthMax) {
    return absl::InvalidArgumentError(fmt::format("request_id has {} characters; at most {} are allowed.",
                                                  request->request_id().size(), kRequestIdLengthMax));
  }
  RETURN_IF_ERROR(CheckTask(request->task()));
  if (request->device_kind().empty()) {
    return absl::InvalidArgumentError(
        "device_kind is missing: say on which kind of device to search, such as \"sim:h200\" or \"cuda\".");
  }
  RETURN_IF_ERROR(CheckOptions(request->options()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Generator> generator,
                   options.new_generator(request->generator(), request->task()));
  ASSIGN_OR_RETURN(const PromptTemplates templates,
                   options.templates.With({request->prompt_templates().begin(), request->prompt_templates().end()}));

  v1::JobOptions* filled = request->mutable_options();
  if (filled->round_count_max() == 0) filled->set_round_count_max(kRoundsDefault);
  if (filled->candidates_per_round() == 0) {
    const int preferred = generator->candidates_per_round_default();
    filled->set_candidates_per_round(preferred > 0 ? static_cast<uint32_t>(preferred) : kCandidatesPerRoundDefault);
  }
  if (filled->candidates_per_round() > kCandidatesPerRoundMax) {
    return absl::InvalidArgumentError(
        fmt::format("The generator asks for {} candidates a round; at most {} are allowed: set "
                    "options.candidates_per_round.",
                    filled->candidates_per_round(), kCandidatesPerRoundMax));
  }
  while (filled->seed() == 0) filled->set_seed(options.new_seed());
  return templates.Hash();
}

}  // namespace fsr
