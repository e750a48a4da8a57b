#include "worker/runner/diagnosis.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "worker/judge/report.h"

namespace fsr {
namespace {

constexpr size_t kSignaturePartBytesMax = 160;
constexpr size_t kErrorsShownMax = 5;
constexpr size_t kErrorBytesMax = 400;

std::string OutcomeWord(v1::Outcome outcome) { return Normalized(v1::Outcome_Name(outcome)); }

std::string Join(v1::Outcome outcome, const std::vector<std::string>& parts) {
  std::string signature = OutcomeWord(outcome);
  for (const std::string& part : parts) {
    if (!part.empty()) signature.append(":").append(Normalized(part));
  }
  return signature;
}

// The log's lines that are errors: "candidate.cu(3): error: …", "ptxas error   : …", or, where there are none of that
// form, its first line.
std::vector<std::string_view> ErrorLines(std::string_view log) {
  std::vector<std::string_view> errors;
  std::string_view first;
  while (!log.empty()) {
    std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (first.empty()) first = line;
    const bool is_error = line.find("error: ") != std::string_view::npos ||
                          line.find("error   : ") != std::string_view::npos ||
                          line.find("fatal   : ") != std::string_view::npos;
    if (is_error) errors.push_back(line);
  }
  if (errors.empty() && !first.empty()) errors.push_back(first);
  return errors;
}

// Without the place, which moves with every edit.
std::string_view WithoutPlace(std::string_view error) {
  for (std::string_view mark : {"error: ", "error   : ", "fatal   : "}) {
    size_t at = error.find(mark);
    if (at != std::string_view::npos) return error.substr(at + mark.size());
  }
  if (error.starts_with("Line ")) return error.substr(std::min(error.size(), error.find(": ") + 2));
  return error;
}

const v1::CaseResult* FirstFailure(const v1::Evaluation& evaluation) {
  for (const v1::CaseResult& result : evaluation.cases()) {
    if (result.outcome() != v1::MEASURED) return &result;
  }
  return nullptr;
}

std::string FailureSignature(v1::Outcome outcome, const v1::CaseResult& result) {
  if (outcome != v1::MISMATCH || result.mismatches().empty()) {
    return Join(outcome, {result.fault().kind(), result.fault().kernel(), result.fault().parameter()});
  }
  const v1::Mismatch& mismatch = result.mismatches(0);
  std::string sort = "wrong";
  if (mismatch.unwritten_count() == mismatch.wrong_count()) sort = "unwritten";
  if (mismatch.nan_count() == mismatch.wrong_count()) sort = "nan";
  return Join(outcome, {mismatch.parameter(), sort, mismatch.pattern()});
}

std::string ComparisonText(const v1::Comparison& comparison) {
  const char* other = comparison.against() == v1::Comparison::BASELINE ? "baseline" : "incumbent";
  const bool known = comparison.ratio() > 0;
  return known ? fmt::format(" It is {:.3g} times as fast as the {} ({:.4g} us).", comparison.ratio(), other,
                             comparison.other_latency_us())
               : "";
}

std::string MeasuredText(const v1::Evaluation& evaluation) {
  std::string text = fmt::format("The kernel is right on all {} cases", evaluation.cases_size());
  if (!evaluation.has_measurement()) return text + ".";
  const v1::Measurement& measured = evaluation.measurement();
  text += measured.estimated() ? fmt::format(" and takes {:.4g} us by the cost model of the {} (an estimate).",
                                             measured.latency_us(), measured.device().name())
                               : fmt::format(" and takes {:.4g} us on the {} (noise {:.2g} %).", measured.latency_us(),
                                             measured.device().name(), 100 * measured.noise());
  if (measured.floor_share() > 0) {
    text += fmt::format(" The least time that the hardware allows is {:.4g} us, {:.3g} % of that.", measured.floor_us(),
                        100 * measured.floor_share());
  }
  for (const v1::Comparison& comparison : evaluation.comparisons()) text += ComparisonText(comparison);
  return text;
}

}  // namespace

std::string Normalized(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size() && result.size() < kSignaturePartBytesMax; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // A digit within a word, as in f32 or tile2, is part of a name.
    const bool in_word =
        !result.empty() && (std::isalpha(static_cast<unsigned char>(result.back())) != 0 || result.back() == '_');
    if (std::isdigit(c) != 0 && !in_word) {
      while (i + 1 < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[i + 1])) != 0 || text[i + 1] == '.')) {
        ++i;
      }
      result.push_back('#');
    } else if (std::isdigit(c) != 0) {
      while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0) result.push_back(text[i++]);
      --i;
    } else if (std::isspace(c) != 0) {
      if (!result.empty() && result.back() != ' ') result.push_back(' ');
    } else {
      result.push_back(static_cast<char>(std::tolower(c)));
    }
  }
  while (result.ends_with(' ')) result.pop_back();
  return result;
}

void DescribeRefusal(v1::Outcome outcome, std::string_view kind, std::string_view sentence,
                     v1::Evaluation* evaluation) {
  evaluation->set_outcome(outcome);
  evaluation->set_diagnosis(std::string(sentence));
  evaluation->set_signature(Join(outcome, {std::string(kind), std::string(WithoutPlace(sentence))}));
}

void DescribeCompileError(std::string_view log, bool limit_exceeded, v1::Evaluation* evaluation) {
  evaluation->set_outcome(v1::COMPILE_ERROR);
  evaluation->set_compile_log(std::string(log));
  const std::vector<std::string_view> errors = ErrorLines(log);
  if (limit_exceeded) {
    evaluation->set_diagnosis(std::string(log));
    evaluation->set_signature(Join(v1::COMPILE_ERROR, {"limit"}));
    return;
  }
  std::string text = "The kernel does not compile.";
  for (size_t i = 0; i < std::min(errors.size(), kErrorsShownMax); ++i) {
    text += fmt::format("\n{}", errors[i].substr(0, kErrorBytesMax));
  }
  if (errors.size() > kErrorsShownMax) text += fmt::format("\n… and {} more errors.", errors.size() - kErrorsShownMax);
  evaluation->set_diagnosis(text);
  evaluation->set_signature(
      Join(v1::COMPILE_ERROR, {errors.empty() ? std::string() : std::string(WithoutPlace(errors.front()))}));
}

void Describe(const v1::Task& task, v1::Evaluation* evaluation) {
  if (evaluation->outcome() == v1::MEASURED) {
    evaluation->set_diagnosis(MeasuredText(*evaluation));
    return;
  }
  const v1::CaseResult* failure = FirstFailure(*evaluation);
  if (failure == nullptr) return;
  std::string text;
  for (const v1::CaseResult& result : evaluation->cases()) text += DescribeFailure(task, result);
  while (text.ends_with('\n')) text.pop_back();
  evaluation->set_diagnosis(text);
  evaluation->set_signature(FailureSignature(evaluation->outcome(), *failure));
}

}  // namespace fsr
