#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "common/directive_cursor.h"
#include "common/element_type.h"
#include "common/launch_plan.h"
#include "common/near_miss.h"
#include "common/quote.h"
#include "common/task_check_parts.h"
#include "common/task_loader.h"
#include "fmt/format.h"

namespace fsr {
namespace {

constexpr size_t kTaskNameLengthMax = 64;
constexpr size_t kDescriptionBytesMax = 64 * 1024;
constexpr size_t kWordLengthMax = 64;
constexpr int kWordsMax = 32;

bool IsLower(char c) { return absl::ascii_islower(static_cast<unsigned char>(c)); }
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// A lower-case letter, then lower-case letters, digits and `also`.
bool IsLowerWord(std::string_view text, std::string_view also, size_t length_max) {
  if (text.empty() || text.size() > length_max || !IsLower(text[0])) return false;
  for (char c : text) {
    if (!IsLower(c) && !IsDigit(c) && also.find(c) == std::string_view::npos) return false;
  }
  return true;
}

void CheckWords(const google::protobuf::RepeatedPtrField<std::string>& words, std::string_view field,
                std::string_view also, std::string_view example, Complaints* complaints) {
  if (words.size() > kWordsMax) {
    complaints->Add(fmt::format("{}: {} entries are more than the {} allowed", field, words.size(), kWordsMax));
    return;
  }
  std::set<std::string> seen;
  for (const std::string& word : words) {
    if (!IsLowerWord(word, also, kWordLengthMax)) {
      complaints->Add(
          fmt::format("{}: {} must begin with a lower-case letter, with lower-case letters, digits and {} "
                      "after it, such as \"{}\"",
                      field, Quoted(word), Quoted(also), example));
    }
    if (!seen.insert(word).second) complaints->Add(fmt::format("{}: {} is given twice", field, Quoted(word)));
  }
}

void CheckInstructions(const v1::Task& task, Complaints* complaints) {
  CheckWords(task.required_instructions(), "required_instructions", "._:", "wgmma.", complaints);
  CheckWords(task.forbidden_instructions(), "forbidden_instructions", "._:", "cp.async.bulk", complaints);
  for (const std::string& required : task.required_instructions()) {
    for (const std::string& forbidden : task.forbidden_instructions()) {
      if (required.substr(0, forbidden.size()) != forbidden) continue;
      complaints->Add(fmt::format("required_instructions: {} is forbidden by {} in forbidden_instructions",
                                  Quoted(required), Quoted(forbidden)));
    }
  }
}

void CheckTolerance(const v1::Tolerance& tolerance, Complaints* complaints) {
  if (!std::isfinite(tolerance.absolute()) || tolerance.absolute() < 0) {
    complaints->Add(fmt::format("tolerance.absolute: {} must be finite and at least 0", tolerance.absolute()));
  }
  // At a relative tolerance of 1 a kernel that writes zeros is right.
  if (!(tolerance.relative() >= 0 && tolerance.relative() < 1)) {
    complaints->Add(fmt::format("tolerance.relative: {} must be at least 0 and below 1", tolerance.relative()));
  }
}

bool IsBuffer(v1::Parameter::Role role) {
  return role == v1::Parameter::INPUT || role == v1::Parameter::OUTPUT || role == v1::Parameter::INOUT;
}

void CheckBuffer(const v1::Task& task, const v1::Parameter& parameter, const std::string& where,
                 Complaints* complaints) {
  if (parameter.shape().empty()) complaints->Add(fmt::format("{}: a buffer needs a shape, such as [n]", where));
  if (parameter.shape_size() > kShapeRankMax) {
    complaints->Add(fmt::format("{}: a shape of {} extents has more than the {} allowed", where, parameter.shape_size(),
                                kShapeRankMax));
  }
  for (const std::string& extent : parameter.shape()) CheckTaskExpression(task, extent, where + ": shape", complaints);
  if (!parameter.has_data()) return;
  if (parameter.role() == v1::Parameter::OUTPUT) {
    complaints->Add(fmt::format("{}: data is for input and inout buffers; an output is poisoned", where));
  } else {
    CheckData(task, parameter.data(), where + ": data", complaints);
  }
}

void CheckValue(const v1::Parameter& parameter, const std::string& where, Complaints* complaints) {
  if (!parameter.shape().empty()) complaints->Add(fmt::format("{}: only buffers have a shape", where));
  if (parameter.has_data()) complaints->Add(fmt::format("{}: only buffers have data", where));
  if (parameter.role() == v1::Parameter::SIZE && IsFloatingPoint(parameter.type())) {
    complaints->Add(fmt::format("{}: a size must have an integer type", where));
  }
}

void CheckParameter(const v1::Task& task, const v1::Parameter& parameter, const std::string& where,
                    Complaints* complaints) {
  if (!IsIdentifier(parameter.name())) {
    complaints->Add(fmt::format("{}: name: {} must be an identifier", where, Quoted(parameter.name())));
  }
  if (parameter.type() == v1::ELEMENT_TYPE_UNSPECIFIED || !v1::ElementType_IsValid(parameter.type())) {
    complaints->Add(fmt::format("{}: type is missing, or unknown to this version", where));
  }
  if (IsBuffer(parameter.role())) {
    CheckBuffer(task, parameter, where, complaints);
  } else if (parameter.role() == v1::Parameter::SIZE || parameter.role() == v1::Parameter::SCALAR) {
    CheckValue(parameter, where, complaints);
  } else {
    complaints->Add(fmt::format("{}: role is missing, or unknown to this version", where));
  }
}

}  // namespace

void CheckTaskFields(const v1::Task& task, Complaints* complaints) {
  if (!IsLowerWord(task.name(), "_", kTaskNameLengthMax)) {
    complaints->Add(
        fmt::format("name: {} must be a lower-case letter with lower-case letters, digits and _ after it, "
                    "at most {} in all",
                    Quoted(task.name()), kTaskNameLengthMax));
  }
  if (task.description().empty()) complaints->Add("description: it is missing; say in plain English what is computed");
  if (task.description().size() > kDescriptionBytesMax) {
    complaints->Add(fmt::format("description: {} bytes are more than the {} allowed", task.description().size(),
                                kDescriptionBytesMax));
  }
  if (!IsUtf8(task.description())) complaints->Add("description: it is not valid UTF-8");
  CheckWords(task.tags(), "tags", "_-", "reduction", complaints);
  CheckInstructions(task, complaints);
  CheckTolerance(task.tolerance(), complaints);
  for (const std::string& text : {task.work().flops(), task.work().bytes()}) {
    if (!text.empty()) CheckTaskExpression(task, text, "work", complaints);
  }
  if (!v1::Task::LaunchPolicy_IsValid(task.launch())) complaints->Add("launch: unknown to this version");
}

void CheckParameters(const v1::Task& task, Complaints* complaints) {
  if (task.parameters_size() > kParametersMax) {
    complaints->Add(fmt::format("parameters: {} are more than the {} allowed", task.parameters_size(), kParametersMax));
    return;
  }
  std::set<std::string> names;
  bool writes = false;
  for (int i = 0; i < task.parameters_size(); ++i) {
    const v1::Parameter& parameter = task.parameters(i);
    const std::string where = IsIdentifier(parameter.name()) ? fmt::format("parameter {}", parameter.name())
                                                             : fmt::format("parameters[{}]", i);
    CheckParameter(task, parameter, where, complaints);
    if (!names.insert(parameter.name()).second) complaints->Add(fmt::format("{}: the name is given twice", where));
    writes = writes || parameter.role() == v1::Parameter::OUTPUT || parameter.role() == v1::Parameter::INOUT;
  }
  if (!writes) complaints->Add("parameters: none is an output or inout buffer, so there is nothing to compute");
}

void CheckTaskExpression(const v1::Task& task, const std::string& text, const std::string& where,
                         Complaints* complaints) {
  const absl::StatusOr<SizeExpression> expression = SizeExpression::Parse(text);
  if (!expression.ok()) return complaints->AddWithContext(where, expression.status());
  std::vector<std::string> known;
  for (const v1::Parameter& parameter : task.parameters()) {
    if (parameter.role() == v1::Parameter::SIZE) known.push_back(parameter.name());
  }
  for (const std::string& name : expression->Names()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    complaints->Add(fmt::format("{}: {} is no size parameter{}", where, name, DidYouMean(name, known)));
  }
}

absl::Status CheckTask(const v1::Task& task) {
  Complaints complaints;
  CheckParameters(task, &complaints);
  CheckCases(task, &complaints);
  // What follows evaluates expressions for cases: with an unsound parameter or case it would only repeat complaints.
  const bool sound = complaints.empty();
  CheckTaskFields(task, &complaints);
  if (sound) {
    CheckCaseBuffers(task, &complaints);
    CheckSources(task, &complaints);
  }
  return complaints.ToStatus();
}

}  // namespace fsr
