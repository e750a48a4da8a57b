#include <fmt/format.h>

#include <map>
#include <sstream>

#include "common/element_type.h"
#include "common/launch_plan.h"
#include "common/task_loader.h"
#include "server/prompts/prompt_data.h"

namespace fsr {
namespace {

std::string DeclarationOf(const v1::Parameter& parameter) {
  const std::string_view type = CudaNameOf(parameter.type());
  switch (parameter.role()) {
    case v1::Parameter::INPUT:
      return fmt::format("const {}* {}", type, parameter.name());
    case v1::Parameter::OUTPUT:
    case v1::Parameter::INOUT:
      return fmt::format("{}* {}", type, parameter.name());
    default:
      return fmt::format("{} {}", type, parameter.name());
  }
}

std::string DataText(const v1::Parameter& parameter) {
  const v1::Data& data = parameter.data();
  if (!parameter.has_data()) {
    return IsFloatingPoint(parameter.type()) ? "uniform in [-1, 1)" : "uniform in [0, 128)";
  }
  switch (data.distribution()) {
    case v1::Data::NORMAL:
      return fmt::format("normal with mean {:g} and standard deviation {:g}", data.mean(), data.standard_deviation());
    case v1::Data::CONSTANT:
      return fmt::format("every element is {}", data.low());
    default:
      return fmt::format("uniform in [{}, {})", data.low(), data.high());
  }
}

std::string ParameterLine(const v1::Parameter& parameter) {
  const std::string shape = fmt::format("{}[{}]", NameOf(parameter.type()), fmt::join(parameter.shape(), ", "));
  switch (parameter.role()) {
    case v1::Parameter::INPUT:
      return fmt::format("`{}`: {}, input; {}", parameter.name(), shape, DataText(parameter));
    case v1::Parameter::OUTPUT:
      return fmt::format("`{}`: {}, output; every element must be written", parameter.name(), shape);
    case v1::Parameter::INOUT:
      return fmt::format("`{}`: {}, changed in place; at first {}", parameter.name(), shape, DataText(parameter));
    case v1::Parameter::SIZE:
      return fmt::format("`{}`: a size", parameter.name());
    default:
      return fmt::format("`{}`: a number", parameter.name());
  }
}

// Sizes and scalars in the order of their names: the maps of a message have none.
std::string CaseText(const v1::Case& which) {
  const std::map<std::string, int64_t> sizes(which.sizes().begin(), which.sizes().end());
  const std::map<std::string, double> scalars(which.scalars().begin(), which.scalars().end());
  std::vector<std::string> parts;
  for (const auto& [name, value] : sizes) parts.push_back(fmt::format("{}={}", name, value));
  for (const auto& [name, value] : scalars) parts.push_back(fmt::format("{}={:g}", name, value));
  return fmt::format("({})", fmt::join(parts, ", "));
}

std::string ToleranceText(const v1::Tolerance& tolerance) {
  if (tolerance.absolute() == 0 && tolerance.relative() == 0) {
    return "Every element of the result must be exactly that of the reference.";
  }
  return fmt::format(
      "An element is right if |got - expected| <= {:g} + {:g} * |expected|; NaN or infinity is right only "
      "where the reference has the same.",
      tolerance.absolute(), tolerance.relative());
}

// The lines of the baseline that say how it is launched.
std::string FixedLaunch(const v1::Task& task) {
  std::istringstream source(task.baseline_source());
  std::string lines;
  for (std::string line; std::getline(source, line);) {
    if (line.find("// fsr:") != std::string::npos) lines += "\n    " + line.substr(line.find("// fsr:"));
  }
  return lines;
}

void AddLaunchLanguage(const v1::Task& task, PromptData* data) {
  std::string size_names;
  for (const v1::Parameter& parameter : task.parameters()) {
    if (parameter.role() == v1::Parameter::SIZE) size_names += fmt::format("`{}`, ", parameter.name());
  }
  data->set("size_names", size_names);
  std::vector<std::string> options;
  for (const std::string_view option : kAllowedCompileOptions) {
    options.push_back(fmt::format("{}{}", option, option.back() == '=' ? "N" : ""));
  }
  data->set("compile_options", fmt::format("{}", fmt::join(options, ", ")));
  if (task.launch() == v1::Task::FIXED) data->set("fixed_launch", FixedLaunch(task));
}

void AddCases(const v1::Task& task, bool simulated, PromptData* data) {
  std::vector<std::string> shown;
  int held_out_count = 0;
  for (const v1::Case& which : task.cases()) {
    if (which.held_out()) {
      ++held_out_count;
    } else {
      shown.push_back(CaseText(which));
    }
  }
  data->set("cases", shown.empty() ? "no case that is shown" : fmt::format("{}", fmt::join(shown, ", ")));
  data->set("has_held_out", held_out_count > 0);
  data->set("held_out_count", std::to_string(held_out_count));
  const v1::Case& measured = simulated && task.has_measure_simulated() ? task.measure_simulated() : task.measure();
  data->set("measured_case", measured.held_out() ? "a case that is not shown" : CaseText(measured));
}

}  // namespace

void AddTask(const v1::Task& task, bool simulated, PromptData* data) {
  data->set("task_name", task.name());
  data->set("description", CutMiddle(task.description(), kPromptLogBytesMax));
  std::vector<std::string> declarations, lines;
  for (const v1::Parameter& parameter : task.parameters()) {
    declarations.push_back(DeclarationOf(parameter));
    lines.push_back(ParameterLine(parameter));
  }
  data->set("signature", fmt::format("{}", fmt::join(declarations, ", ")));
  data->set("parameters", ListOf(lines));
  data->set("tolerance", ToleranceText(task.tolerance()));
  data->set("required_instructions",
            ListOf({task.required_instructions().begin(), task.required_instructions().end()}, "name"));
  data->set("forbidden_instructions",
            ListOf({task.forbidden_instructions().begin(), task.forbidden_instructions().end()}, "name"));
  AddLaunchLanguage(task, data);
  AddCases(task, simulated, data);
}

}  // namespace fsr
