#include "worker/judge/report.h"

#include "common/element_type.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "worker/judge/compare.h"

namespace fsr {
namespace {

v1::ElementType TypeOf(const v1::Task& task, const std::string& parameter) {
  for (const v1::Parameter& candidate : task.parameters()) {
    if (candidate.name() == parameter) return candidate.type();
  }
  return v1::F32;
}

// Enough digits to tell two values of the type apart.
std::string ValueText(v1::ElementType type, double value) {
  if (!IsFloatingPoint(type)) return fmt::format("{:.0f}", value);
  return type == v1::F64 ? fmt::format("{:.17g}", value) : fmt::format("{:.9g}", value);
}

std::string ElementText(v1::ElementType type, const std::string& parameter, const v1::WrongElement& wrong) {
  const std::string got = wrong.unwritten() ? "was not written" : fmt::format("is {}", ValueText(type, wrong.got()));
  return fmt::format("{}[{}] {} and should be {}", parameter, fmt::join(wrong.position(), ", "), got,
                     ValueText(type, wrong.expected()));
}

std::string MismatchText(const v1::Task& task, const v1::Mismatch& mismatch) {
  const v1::ElementType type = TypeOf(task, mismatch.parameter());
  std::string text = fmt::format("Output {} {}[{}]: {} of {} elements are wrong", mismatch.parameter(), NameOf(type),
                                 fmt::join(mismatch.shape(), ", "), mismatch.wrong_count(), mismatch.element_count());
  if (mismatch.unwritten_count() > 0) text += fmt::format(", {} of them never written", mismatch.unwritten_count());
  if (mismatch.nan_count() > 0) text += fmt::format(", {} of them NaN", mismatch.nan_count());
  text += ".\n";
  if (!mismatch.pattern().empty()) text += fmt::format("What they have in common: {}.\n", mismatch.pattern());
  text += fmt::format("The worst: {}.\n", ElementText(type, mismatch.parameter(), mismatch.worst()));
  if (mismatch.first_size() < 2) return text;
  text += "The first:\n";
  for (const v1::WrongElement& wrong : mismatch.first()) {
    text += fmt::format("  {}\n", ElementText(type, mismatch.parameter(), wrong));
  }
  return text;
}

std::string ToleranceText(const v1::Tolerance& tolerance) {
  if (tolerance.absolute() == 0 && tolerance.relative() == 0) return "The values must be equal.\n";
  return fmt::format("An element is right if |got - expected| <= {} + {} * |expected|.\n", tolerance.absolute(),
                     tolerance.relative());
}

std::string HeldOutText(const v1::CaseResult& result) {
  if (result.outcome() == v1::MISMATCH) {
    return "The result is wrong on a held-out case, whose sizes and data are not shown: the kernel must be right for "
           "every size and for every input that the task allows.\n";
  }
  return fmt::format(
      "The kernel fails on a held-out case, whose sizes and data are not shown ({}{}{}): it must work for every size "
      "and for every input that the task allows.\n",
      v1::Outcome_Name(result.outcome()), result.fault().kind().empty() ? "" : ", ", result.fault().kind());
}

}  // namespace

std::string DescribeFailure(const v1::Task& task, const v1::CaseResult& result) {
  if (result.outcome() == v1::MEASURED) return "";
  if (result.held_out()) return HeldOutText(result);
  std::string text = fmt::format("Case {}: ", result.name());
  if (result.has_fault()) return text + result.fault().message() + "\n";
  text += "the result differs from the reference.\n";
  for (const v1::Mismatch& mismatch : result.mismatches()) text += MismatchText(task, mismatch);
  return text + ToleranceText(task.tolerance());
}

}  // namespace fsr
