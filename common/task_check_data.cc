#include <charconv>
#include <cmath>
#include <optional>

#include "common/argument_value.h"
#include "common/element_type.h"
#include "common/launch_plan.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "common/task_check_parts.h"
#include "fmt/format.h"

namespace fsr {
namespace {

std::optional<double> ParseNumber(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

bool IsUniform(const v1::Data& data) {
  return data.distribution() == v1::Data::UNIFORM || data.distribution() == v1::Data::DISTRIBUTION_UNSPECIFIED;
}

absl::StatusOr<double> Evaluate(const std::string& text, const SizeBindings& bindings) {
  if (const auto number = ParseNumber(text)) return *number;
  ASSIGN_OR_RETURN(const SizeExpression expression, SizeExpression::Parse(text));
  ASSIGN_OR_RETURN(const int64_t value, expression.Evaluate(bindings));
  return static_cast<double>(value);
}

absl::Status CheckUniformBounds(const v1::Data& data, const ResolvedBuffer& buffer, const SizeBindings& bindings) {
  const bool floating = IsFloatingPoint(buffer.type);
  ASSIGN_OR_RETURN(const double low, Evaluate(data.low().empty() ? (floating ? "-1" : "0") : data.low(), bindings));
  ASSIGN_OR_RETURN(const double high, Evaluate(data.high().empty() ? (floating ? "1" : "128") : data.high(), bindings));
  if (!std::isfinite(low) || !std::isfinite(high)) {
    return absl::InvalidArgumentError(fmt::format("low = {} and high = {} must be finite", low, high));
  }
  if (buffer.element_count > 0 && low >= high) {
    return absl::InvalidArgumentError(fmt::format("high = {} must be above low = {}", high, low));
  }
  if (buffer.element_count == 0) return absl::OkStatus();
  // The upper bound itself is never drawn; of integers, the one before it is the largest.
  RETURN_IF_ERROR(ScalarArgument(buffer.type, low).status());
  return ScalarArgument(buffer.type, floating ? high : high - 1).status();
}

absl::Status CheckBounds(const v1::Data& data, const ResolvedBuffer& buffer, const SizeBindings& bindings) {
  if (IsUniform(data)) return CheckUniformBounds(data, buffer, bindings);
  if (data.distribution() != v1::Data::CONSTANT) return absl::OkStatus();
  ASSIGN_OR_RETURN(const double value, Evaluate(data.low(), bindings));
  return ScalarArgument(buffer.type, value).status();
}

void CheckBuffersOf(const v1::Task& task, const v1::Case& which, const std::string& where, Complaints* complaints) {
  const absl::StatusOr<SizeBindings> bindings = BindSizes(task, which);
  const absl::StatusOr<std::vector<ResolvedBuffer>> buffers = ResolveParameters(task, which);
  if (!bindings.ok() || !buffers.ok()) {
    return complaints->AddWithContext(where, bindings.ok() ? buffers.status() : bindings.status());
  }
  size_t index = 0;
  for (const v1::Parameter& parameter : task.parameters()) {
    if (parameter.role() == v1::Parameter::SIZE || parameter.role() == v1::Parameter::SCALAR) continue;
    const ResolvedBuffer& buffer = (*buffers)[index++];
    if (parameter.role() == v1::Parameter::OUTPUT) continue;
    const auto replaced = which.data().find(parameter.name());
    const v1::Data& data = replaced != which.data().end() ? replaced->second : parameter.data();
    complaints->AddWithContext(fmt::format("{}: data of {}", where, parameter.name()),
                               CheckBounds(data, buffer, *bindings));
  }
}

void CheckWorkOf(const v1::Task& task, const v1::Case& which, const std::string& where, Complaints* complaints) {
  const absl::StatusOr<SizeBindings> bindings = BindSizes(task, which);
  for (const std::string& text : {task.work().flops(), task.work().bytes()}) {
    if (text.empty() || !bindings.ok()) continue;
    const absl::StatusOr<SizeExpression> expression = SizeExpression::Parse(text);
    if (!expression.ok()) continue;  // said already
    const absl::StatusOr<int64_t> value = expression->Evaluate(*bindings);
    if (!value.ok()) {
      complaints->AddWithContext(where + ": work", value.status());
    } else if (*value < 0) {
      complaints->Add(fmt::format("{}: work: \"{}\" is {}, below 0", where, text, *value));
    }
  }
}

}  // namespace

void CheckData(const v1::Task& task, const v1::Data& data, const std::string& where, Complaints* complaints) {
  if (!v1::Data::Distribution_IsValid(data.distribution())) {
    return complaints->Add(fmt::format("{}: distribution: unknown to this version", where));
  }
  for (const std::string& bound : {data.low(), data.high()}) {
    if (!bound.empty() && !ParseNumber(bound)) CheckTaskExpression(task, bound, where, complaints);
  }
  if (data.distribution() != v1::Data::NORMAL) {
    if (data.mean() != 0 || data.standard_deviation() != 0) {
      complaints->Add(fmt::format("{}: mean and standard_deviation are for distribution: normal", where));
    }
    const bool constant = data.distribution() == v1::Data::CONSTANT;
    if (constant && data.low().empty()) complaints->Add(fmt::format("{}: a constant needs its value as low", where));
    if (constant && !data.high().empty()) complaints->Add(fmt::format("{}: a constant has no high", where));
    return;
  }
  if (!data.low().empty() || !data.high().empty()) {
    complaints->Add(fmt::format("{}: distribution: normal has no low and high", where));
  }
  if (!std::isfinite(data.mean()) || !std::isfinite(data.standard_deviation()) || data.standard_deviation() <= 0) {
    complaints->Add(fmt::format("{}: mean = {} must be finite, and standard_deviation = {} finite and above 0", where,
                                data.mean(), data.standard_deviation()));
  }
}

void CheckCaseBuffers(const v1::Task& task, Complaints* complaints) {
  ForEachCase(task,
              [&](const v1::Case& which, const std::string& where) { CheckBuffersOf(task, which, where, complaints); });
  if (task.has_measure()) CheckWorkOf(task, task.measure(), "measure", complaints);
  if (task.has_measure_simulated()) CheckWorkOf(task, task.measure_simulated(), "measure_simulated", complaints);
}

}  // namespace fsr
