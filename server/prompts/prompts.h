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
inline constexpr int kPromptLogBytesMax = 8 * 1024;       // of a compiler log, a diagnosis or a description in a prompt
inline constexpr int kPromptCodeBytesMax = 192 * 1024;    // of a candidate's code in a prompt
inline constexpr int kOtherFailuresBytesMax = 96 * 1024;  // of the code of the other failures in a merged prompt
inline constexpr int kLessonsBytesMax = 24 * 1024;        // of what earlier jobs found out in a first prompt
inline constexpr int kTemplateBytesMax = 64 * 1024;

// system.mustache, task.mustache, compile_failure.mustache, run_failure.mustache, rejected.mustache,
// mismatch.mustache, performance.mustache, the partials they include, and arch/*.md.
struct PromptTemplates {
  std::map<std::string, std::string> by_file;
  // Of all of them, by name and content.
  std::string Hash() const;
  // The same with some files replaced. INVALID_ARGUMENT for an unknown file name, and for what is no template.
  absl::StatusOr<PromptTemplates> With(const std::map<std::string, std::string>& replaced) const;
};

// NOT_FOUND names the missing file.
absl::StatusOr<PromptTemplates> LoadPromptTemplates(const std::filesystem::path& folder);

struct WrittenPrompt {
  std::string system_text, user_text;
};

// INVALID_ARGUMENT if a template is malformed or makes a prompt beyond kPromptBytesMax (names the file). What is held
// out is never shown. REQUIRES: the baseline is finished, and so is the planned parent candidate, if there is one.
absl::StatusOr<WrittenPrompt> WritePrompt(const PromptTemplates& templates, const JobFacts& facts,
                                          const PlannedPrompt& planned, const v1::DeviceFacts& device);

}  // namespace fsr
