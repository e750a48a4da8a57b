#include "tests/gpu/variants.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "common/launch_plan.h"
#include "common/random.h"
#include "common/status_macros.h"

namespace fsr {
namespace {

using Choice = std::map<std::string, int64_t>;

std::string LabelOf(const Choice& choice) {
  std::string label;
  for (const auto& [name, value] : choice) label += fmt::format("{}{}={}", label.empty() ? "" : " ", name, value);
  return label;
}

}  // namespace

absl::StatusOr<std::vector<Variant>> TunableVariants(const v1::Task& task, int count, uint64_t seed) {
  constexpr int kDrawsPerVariantMax = 100;
  ASSIGN_OR_RETURN(const LaunchPlan plan, ParseLaunchPlan(task.tunable_source(), task));
  SplitMix64 random(DeriveSeed(seed, task.name()));
  std::set<Choice> seen;
  std::vector<Variant> variants;
  for (int draw = 0; draw < count * kDrawsPerVariantMax && std::ssize(variants) < count; ++draw) {
    Choice choice;
    for (const Tunable& tunable : plan.tunables) {
      choice[tunable.name] = tunable.values[draw == 0 ? 0 : random.Below(tunable.values.size())];
    }
    if (!seen.insert(choice).second) continue;
    ASSIGN_OR_RETURN(std::string source, PinTunables(task.tunable_source(), choice));
    variants.push_back({LabelOf(choice), std::move(source)});
  }
  return variants;
}

}  // namespace fsr
