#include <fmt/format.h>

#include <array>
#include <kainjow/mustache.hpp>
#include <vector>

#include "common/files.h"
#include "common/hash.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "server/prompts/prompts.h"

namespace fsr {
namespace {

constexpr std::array kTemplateFiles = {
    "system.mustache",         "task.mustache",         "compile_failure.mustache", "run_failure.mustache",
    "rejected.mustache",       "mismatch.mustache",     "performance.mustache",     "answer.mustache",
    "device.mustache",         "restrictions.mustache", "task_facts.mustache",      "lessons.mustache",
    "other_failures.mustache", "arch/turing.md",        "arch/ampere.md",           "arch/ada.md",
    "arch/hopper.md",          "arch/blackwell.md",
};

absl::Status CheckTemplate(const std::string& file, const std::string& text) {
  if (text.size() > kTemplateBytesMax) {
    return absl::InvalidArgumentError(fmt::format("The prompt template {} has {} bytes; at most {} are allowed.", file,
                                                  text.size(), kTemplateBytesMax));
  }
  const kainjow::mustache::mustache parsed(text);
  if (!parsed.is_valid()) {
    return absl::InvalidArgumentError(
        fmt::format("The prompt template {} is malformed: {}.", file, parsed.error_message()));
  }
  return absl::OkStatus();
}

}  // namespace

std::string PromptTemplates::Hash() const {
  FieldHasher hasher;
  for (const auto& [file, text] : by_file) hasher.Add(file).Add(text);
  return hasher.Hex();
}

absl::StatusOr<PromptTemplates> PromptTemplates::With(const std::map<std::string, std::string>& replaced) const {
  PromptTemplates result = *this;
  for (const auto& [file, text] : replaced) {
    const auto found = result.by_file.find(file);
    if (found == result.by_file.end()) {
      std::vector<std::string> known;
      for (const auto& [name, unused] : by_file) known.push_back(name);
      return absl::InvalidArgumentError(
          fmt::format("There is no prompt template \"{}\"; the templates are: {}.", file, fmt::join(known, ", ")));
    }
    RETURN_IF_ERROR(CheckTemplate(file, text));
    found->second = text;
  }
  return result;
}

absl::StatusOr<PromptTemplates> LoadPromptTemplates(const std::filesystem::path& folder) {
  PromptTemplates templates;
  for (const char* file : kTemplateFiles) {
    auto text = ReadFile(folder / file, kTemplateBytesMax);
    if (!text.ok()) return WithContext(fmt::format("Prompt template {}", file), text.status());
    RETURN_IF_ERROR(CheckTemplate(file, *text));
    templates.by_file[file] = *std::move(text);
  }
  return templates;
}

}  // namespace fsr
