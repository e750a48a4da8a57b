#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/task_loader.h"
#include "server/answers/fenced_block.h"
#include "server/prompts/prompt_data.h"

namespace fsr {
namespace {

constexpr size_t kCasesShownMax = 3;
constexpr size_t kElementsShownMax = 8;
constexpr size_t kLineBytesMax = 2000;

bool IsShown(const v1::CaseResult& result, const v1::Task& task) {
  if (result.held_out()) return false;
  // A worker's report alone is not trusted with this: the task says which sizes are held out.
  return std::none_of(task.cases().begin(), task.cases().end(), [&](const v1::Case& which) {
    return which.held_out() && which.sizes().size() == result.sizes().size() && !which.sizes().empty() &&
           std::all_of(which.sizes().begin(), which.sizes().end(), [&](const auto& size) {
             const auto found = result.sizes().find(size.first);
             return found != result.sizes().end() && found->second == size.second;
           });
  });
}

bool Mentions(const std::string& text, const v1::Task& task) {
  return std::any_of(task.cases().begin(), task.cases().end(), [&](const v1::Case& which) {
    return which.held_out() && text.find(NameOf(which)) != std::string::npos;
  });
}

std::string Number(double value) { return std::isnan(value) ? "NaN" : fmt::format("{:.9g}", value); }

std::string ElementText(const v1::WrongElement& element) {
  const std::string at = element.position().empty() ? fmt::format("{}", element.index())
                                                    : fmt::format("{}", fmt::join(element.position(), ", "));
  return fmt::format("[{}] expected {}, {}", at, Number(element.expected()),
                     element.unwritten() ? "never written" : "got " + Number(element.got()));
}

std::string MismatchLine(const std::string& case_name, const v1::Mismatch& mismatch) {
  std::string line =
      fmt::format("Case {}, output `{}` of shape [{}]: {} of {} elements are wrong", case_name, mismatch.parameter(),
                  fmt::join(mismatch.shape(), ", "), mismatch.wrong_count(), mismatch.element_count());
  if (mismatch.nan_count() > 0) line += fmt::format(", {} of them NaN", mismatch.nan_count());
  if (mismatch.unwritten_count() > 0) line += fmt::format(", {} of them never written", mismatch.unwritten_count());
  line += ".";
  if (!mismatch.pattern().empty()) line += fmt::format(" Pattern: {}.", mismatch.pattern());
  if (mismatch.has_worst()) line += fmt::format(" The worst: {}.", ElementText(mismatch.worst()));
  std::vector<std::string> first;
  for (const v1::WrongElement& element : mismatch.first()) {
    if (first.size() < kElementsShownMax) first.push_back(ElementText(element));
  }
  if (!first.empty()) line += fmt::format(" The first: {}.", fmt::join(first, "; "));
  return line;
}

std::string FaultLine(const std::string& case_name, const v1::CaseResult& result) {
  const v1::Fault& fault = result.fault();
  std::string line = fmt::format("Case {}: {}", case_name, v1::Outcome_Name(result.outcome()));
  if (!fault.message().empty()) line += ": " + fault.message();
  if (fault.source_line() > 0) line += fmt::format(" (line {} of the file)", fault.source_line());
  if (fault.has_block() && fault.has_thread()) {
    line += fmt::format(" (block {},{},{}, thread {},{},{})", fault.block().x(), fault.block().y(), fault.block().z(),
                        fault.thread().x(), fault.thread().y(), fault.thread().z());
  }
  if (!fault.parameter().empty()) {
    line += fmt::format(" (byte {} from the start of `{}`)", fault.parameter_offset_bytes(), fault.parameter());
  }
  return line;
}

std::string WhatHappened(v1::Outcome outcome) {
  switch (outcome) {
    case v1::LAUNCH_ERROR:
      return "cannot be launched";
    case v1::TIMEOUT:
      return "does not end in time";
    case v1::REJECTED:
      return "breaks a rule of the task";
    case v1::UNSUPPORTED:
      return "cannot run on this device";
    default:
      return "fails while it runs";
  }
}

}  // namespace

void AddFailure(const JobFacts& facts, const StoredCandidate& candidate, PromptData* data) {
  const v1::Evaluation& result = *candidate.result;
  data->set("candidate_number", std::to_string(candidate.number));
  if (!candidate.source.empty()) data->set("code", CodeText(candidate.source));
  data->set("what_happened", WhatHappened(result.outcome()));

  std::vector<std::string> faults, mismatches;
  bool has_hidden_failure = false;
  size_t shown_count = 0;
  for (const v1::CaseResult& one : result.cases()) {
    if (one.outcome() == v1::MEASURED || one.outcome() == v1::OUTCOME_UNSPECIFIED) continue;
    if (!IsShown(one, facts.task)) {
      has_hidden_failure = true;
      continue;
    }
    if (++shown_count > kCasesShownMax) continue;
    if (one.mismatches().empty()) faults.push_back(CutMiddle(FaultLine(one.name(), one), kLineBytesMax));
    for (const v1::Mismatch& mismatch : one.mismatches()) {
      mismatches.push_back(CutMiddle(MismatchLine(one.name(), mismatch), kLineBytesMax));
    }
  }
  data->set("faults", ListOf(faults));
  data->set("mismatches", ListOf(mismatches));
  if (has_hidden_failure) {
    data->set("hidden_failure",
              shown_count > 0
                  ? "It fails on a case that is not shown, too."
                  : "It is right on the shown cases, but fails on one that is not shown: think of sizes that "
                    "no tile divides, of very small ones, and of a dimension of 1.");
  }
  // The diagnosis is one text about all cases.
  const std::string& diagnosis = result.diagnosis();
  if (!has_hidden_failure && !diagnosis.empty() && !Mentions(diagnosis, facts.task)) {
    data->set("diagnosis", CutMiddle(diagnosis, kPromptLogBytesMax));
  }
  if (!result.compile_log().empty()) {
    data->set("compile_log", FencedBlock(CutMiddle(result.compile_log(), kPromptLogBytesMax), ""));
  }
}

}  // namespace fsr
