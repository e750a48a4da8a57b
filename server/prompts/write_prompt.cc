#include <fmt/format.h>

#include "common/status_macros.h"
#include "common/utf8.h"
#include "server/prompts/prompt_data.h"
#include "server/search/decide.h"

namespace fsr {
namespace {

// Partials may include each other; one that includes itself must end.
constexpr int kPartialsMax = 100;

const char* TemplateFor(v1::Branch branch) {
  switch (branch) {
    case v1::COMPILE_FAILURE:
      return "compile_failure.mustache";
    case v1::RUN_FAILURE:
      return "run_failure.mustache";
    case v1::MISMATCH_FAILURE:
      return "mismatch.mustache";
    case v1::REJECTED_FAILURE:
      return "rejected.mustache";
    case v1::PERFORMANCE:
      return "performance.mustache";
    default:
      return "task.mustache";
  }
}

absl::StatusOr<std::string> Render(const PromptTemplates& templates, const std::string& file, PromptData data) {
  int partial_count = 0;
  for (const auto& [name, text] : templates.by_file) {
    const std::string partial = name.substr(0, name.find('.'));
    data.set(partial, PromptData(kainjow::mustache::partial([&partial_count, &text = text]() -> std::string {
               return ++partial_count > kPartialsMax ? "" : text;
             })));
  }
  const auto found = templates.by_file.find(file);
  if (found == templates.by_file.end()) {
    return absl::InvalidArgumentError(fmt::format("The prompt template {} is missing.", file));
  }
  kainjow::mustache::mustache parsed(found->second);
  // Prompts are not HTML.
  parsed.set_custom_escape([](const std::string& text) { return text; });
  if (!parsed.is_valid()) {
    return absl::InvalidArgumentError(
        fmt::format("The prompt template {} is malformed: {}.", file, parsed.error_message()));
  }
  std::string text = ToUtf8(parsed.render(data));
  if (!parsed.is_valid()) {
    return absl::InvalidArgumentError(
        fmt::format("The prompt template {} includes a malformed one: {}.", file, parsed.error_message()));
  }
  if (partial_count > kPartialsMax) {
    return absl::InvalidArgumentError(fmt::format(
        "The prompt template {} includes more than {} partials: one of them includes itself.", file, kPartialsMax));
  }
  if (text.size() > kPromptBytesMax) {
    return absl::InvalidArgumentError(fmt::format(
        "The prompt from the template {} has {} bytes; at most {} are allowed.", file, text.size(), kPromptBytesMax));
  }
  return text;
}

}  // namespace

absl::StatusOr<WrittenPrompt> WritePrompt(const PromptTemplates& templates, const JobFacts& facts,
                                          const PlannedPrompt& planned, const v1::DeviceFacts& device) {
  PromptData data;
  AddTask(facts.task, device.simulated(), &data);
  AddDevice(device, templates, &data);
  data.set("baseline_code", CodeText(facts.task.baseline_source()));
  data.set("baseline_latency", LatencyText(facts.baseline->measurement()));
  if (planned.branch == v1::TASK) {
    AddLessons(facts, &data);
  } else {
    const StoredCandidate* parent = FindCandidate(facts, planned.parent_candidate);
    if (parent == nullptr || !parent->result) {
      return absl::InternalError(fmt::format("A {} prompt was planned for candidate {}, which has no result.",
                                             v1::Branch_Name(planned.branch), planned.parent_candidate));
    }
    if (planned.branch == v1::PERFORMANCE) {
      AddPerformance(facts, *parent, &data);
      if (!planned.hint.empty()) data.set("hint", planned.hint);
    } else {
      AddFailure(facts, *parent, &data);
      AddOtherFailures(facts, planned.other_failures, &data);
    }
  }
  WrittenPrompt written;
  ASSIGN_OR_RETURN(written.system_text, Render(templates, "system.mustache", data));
  ASSIGN_OR_RETURN(written.user_text, Render(templates, TemplateFor(planned.branch), data));
  return written;
}

}  // namespace fsr
