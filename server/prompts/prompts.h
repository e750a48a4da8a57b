// Writes prompts: templates (prompts/*.mustache) plus facts give text. Pure but for loading the templates.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "server/search/decide.h"
#include "server/store/store.h"

namespace fsr {

inline constexpr int kPromptBytesMax = 512 * 1024;
inline constexpr int kPromptLogBytesMax = 8 * 1024;  // of a compiler log in a prompt

// system.mustache, task.mustache, compile_failure.mustache, run_failure.mustache, mismatch.mustache,
// performance.mustache, and the partials they include.
struct PromptTemplates {
  std::map<std::string, std::string> by_file;
  // Of all of them, by name and content.
  std::string Hash() const;
  // The same with some files replaced. INVALID_ARGUMENT for an unknown file name.
  absl::StatusOr<PromptTemplates> With(const std::map<std::string, std::string>& replaced) const;
};

// NOT_FOUND names the missing file.
absl::StatusOr<PromptTemplates> LoadPromptTemplates(const std::filesystem::path& folder);

struct WrittenPrompt {
  std::string system_text, user_text;
};

// INVALID_ARGUMENT if a template is malformed (names the file). What is held out is never shown.
absl::StatusOr<WrittenPrompt> WritePrompt(const PromptTemplates& templates, const JobFacts& facts,
                                          const PlannedPrompt& planned, const v1::DeviceFacts& device);

}  // namespace fsr
