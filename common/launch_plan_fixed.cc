#include <algorithm>

#include "common/element_type.h"
#include "common/launch_plan_parts.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace fsr {
namespace {

std::string Texts(const std::vector<SizeExpression>& expressions) {
  std::string texts;
  for (const SizeExpression& expression : expressions) texts += expression.text() + ", ";
  return texts;
}

// What a part says, for comparison.
std::string Meaning(const Launch& launch) {
  return fmt::format("{} ({}) ({}) ({}) {} {} {} ({})", launch.kernel, Texts(launch.grid), Texts(launch.block),
                     Texts(launch.cluster), launch.shared.text(), launch.cooperative, launch.args_given,
                     fmt::join(launch.args, ", "));
}

std::string Meaning(const ScratchBuffer& scratch) {
  return fmt::format("{} {}[{}]", scratch.name, NameOf(scratch.type), scratch.count.text());
}

std::string Meaning(const TensorMap& map) {
  return fmt::format("{} {} ({}) ({}) {}", map.name, map.buffer, Texts(map.dims), Texts(map.box), map.swizzle);
}

template <typename Part>
void TakeOver(std::string_view directive, const std::vector<Part>& fixed, std::vector<Part>* own,
              Complaints* complaints) {
  for (const Part& part : *own) {
    const bool same =
        std::any_of(fixed.begin(), fixed.end(), [&](const Part& other) { return Meaning(other) == Meaning(part); });
    if (!same) {
      complaints->Add(fmt::format("line {}: {}: the task's launch is fixed; remove this line", part.line, directive));
    }
  }
  *own = fixed;
  for (Part& part : *own) part.line = 0;
}

}  // namespace

void ApplyFixedLaunch(const LaunchPlan& fixed, LaunchPlan* plan, Complaints* complaints) {
  TakeOver("launch", fixed.launches, &plan->launches, complaints);
  TakeOver("scratch", fixed.scratch, &plan->scratch, complaints);
  TakeOver("tensor_map", fixed.tensor_maps, &plan->tensor_maps, complaints);
  for (const Tunable& tunable : fixed.tunables) {
    const auto own = std::find_if(plan->tunables.begin(), plan->tunables.end(),
                                  [&](const Tunable& other) { return other.name == tunable.name; });
    const int64_t value = tunable.values.front();
    if (own == plan->tunables.end()) {
      plan->tunables.push_back({.name = tunable.name, .values = {value}, .line = 0});
      continue;
    }
    if (own->values.front() != value) {
      complaints->Add(fmt::format("line {}: tune: {} is {} in the task's fixed launch, and {} here; remove this line",
                                  own->line, own->name, value, own->values.front()));
    }
    own->values = {value};
  }
}

std::string LineName(int line) { return line > 0 ? fmt::format("line {}", line) : "the task's fixed launch"; }

}  // namespace fsr
