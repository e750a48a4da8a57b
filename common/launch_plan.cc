#include "common/launch_plan.h"

#include <algorithm>
#include <iterator>

#include "common/complaints.h"
#include "common/launch_plan_parts.h"
#include "common/near_miss.h"
#include "common/quote.h"
#include "common/status_macros.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace fsr {
namespace {

// Appends what `parse` reads, unless there are `count_max` already.
template <typename Part>
absl::Status Append(absl::StatusOr<Part> (*parse)(DirectiveCursor&), size_t count_max, DirectiveCursor& cursor,
                    std::vector<Part>* parts) {
  ASSIGN_OR_RETURN(Part part, parse(cursor));
  if (parts->size() >= count_max) {
    return cursor.Error(fmt::format("there are more than {} such lines", count_max));
  }
  parts->push_back(std::move(part));
  return absl::OkStatus();
}

absl::Status ParseDirective(const Directive& directive, LaunchPlan* plan) {
  DirectiveCursor cursor(directive.text, directive.line);
  ASSIGN_OR_RETURN(const std::string name, cursor.Identifier("a word such as launch after \"fsr:\""));
  cursor.set_directive(name);
  if (name == "tune") return Append(ParseTune, kTunablesMax, cursor, &plan->tunables);
  if (name == "scratch") return Append(ParseScratch, kScratchBuffersMax, cursor, &plan->scratch);
  if (name == "fill") return Append(ParseFill, kFillsMax, cursor, &plan->fills);
  if (name == "launch") return Append(ParseLaunch, kLaunchesMax, cursor, &plan->launches);
  if (name == "tensor_map") return Append(ParseTensorMap, kTensorMapsMax, cursor, &plan->tensor_maps);
  if (name == "option") return Append(ParseOption, kOptionsMax, cursor, &plan->options);
  const std::vector<std::string> known(std::begin(kDirectiveNames), std::end(kDirectiveNames));
  return absl::InvalidArgumentError(fmt::format("line {}: unknown word {} after \"fsr:\", not one of {}{}",
                                                directive.line, Quoted(name), fmt::join(known, ", "),
                                                DidYouMean(name, known)));
}

absl::Status CheckSourceSize(std::string_view source) {
  if (source.size() <= kSourceBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the source has {} bytes, more than the {} allowed", source.size(), kSourceBytesMax));
}

}  // namespace

absl::StatusOr<LaunchPlan> ParseLaunchPlan(std::string_view source, const v1::Task& task,
                                           const LaunchPlan* fixed_launch_from) {
  RETURN_IF_ERROR(CheckSourceSize(source));
  ASSIGN_OR_RETURN(const std::vector<Directive> directives, FindDirectives(source));
  LaunchPlan plan;
  Complaints complaints;
  for (const Directive& directive : directives) complaints.Add(ParseDirective(directive, &plan));
  RETURN_IF_ERROR(complaints.ToStatus());
  if (fixed_launch_from != nullptr) ApplyFixedLaunch(*fixed_launch_from, &plan, &complaints);
  if (plan.launches.empty()) {
    complaints.Add("there is no launch line, such as \"// fsr: launch NAME grid=(...) block=(...)\"");
  }
  CheckPlanNames(plan, task, &complaints);
  RETURN_IF_ERROR(complaints.ToStatus());
  return plan;
}

absl::StatusOr<std::string> PinTunables(std::string_view source, const std::map<std::string, int64_t>& values) {
  RETURN_IF_ERROR(CheckSourceSize(source));
  ASSIGN_OR_RETURN(const std::vector<Directive> directives, FindDirectives(source));
  std::string pinned;
  size_t copied = 0;
  std::vector<std::string> known;
  std::map<std::string, int64_t> open = values;
  for (const Directive& directive : directives) {
    DirectiveCursor cursor(directive.text, directive.line);
    if (const auto name = cursor.Identifier("a word"); !name.ok() || *name != "tune") continue;
    cursor.set_directive("tune");
    ASSIGN_OR_RETURN(const Tunable tunable, ParseTune(cursor));
    known.push_back(tunable.name);
    const auto wanted = open.find(tunable.name);
    if (wanted == open.end()) continue;
    if (std::find(tunable.values.begin(), tunable.values.end(), wanted->second) == tunable.values.end()) {
      return absl::InvalidArgumentError(fmt::format("line {}: {} cannot be {}, only {}", tunable.line, tunable.name,
                                                    wanted->second, fmt::join(tunable.values, ", ")));
    }
    pinned += source.substr(copied, directive.offset - copied);
    pinned += fmt::format("// fsr: tune {} = {}", tunable.name, wanted->second);
    copied = directive.offset + directive.comment.size();
    open.erase(wanted);
  }
  if (!open.empty()) {
    const std::string& name = open.begin()->first;
    return absl::InvalidArgumentError(
        fmt::format("the source has no tune line for {}{}", Quoted(name), DidYouMean(name, known)));
  }
  pinned += source.substr(copied);
  return pinned;
}

std::vector<std::string> CompileDefinitions(const LaunchPlan& plan) {
  std::vector<std::string> definitions;
  for (const Tunable& tunable : plan.tunables) {
    definitions.push_back(fmt::format("-D{}={}", tunable.name, tunable.values.front()));
  }
  definitions.insert(definitions.end(), plan.options.begin(), plan.options.end());
  return definitions;
}

}  // namespace fsr
