#include "server/generators/generator.h"

#include <fmt/format.h>

#include <set>

#include "server/generators/mailbox.h"
#include "server/generators/replay.h"
#include "server/generators/tune.h"

namespace fsr {
namespace {

struct Kind {
  const char* name;
  std::set<std::string> options;
  absl::StatusOr<std::unique_ptr<Generator>> (*make)(const v1::GeneratorSpec&, const v1::Task&);
};

const std::vector<Kind>& Kinds() {
  static const auto& kinds = *new std::vector<Kind>{
      {kMailbox, {}, NewMailbox},
      {"replay", {"recording"}, NewReplay},
      {"tune", {}, NewTune},
  };
  return kinds;
}

std::string Listed(const std::set<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Generator>> NewGenerator(const v1::GeneratorSpec& spec, const v1::Task& task) {
  std::set<std::string> names;
  for (const Kind& kind : Kinds()) {
    names.insert(kind.name);
    if (spec.name() != kind.name) continue;
    for (const auto& [option, value] : spec.options()) {
      if (kind.options.count(option) != 0) continue;
      return absl::InvalidArgumentError(fmt::format("The generator \"{}\" has no option \"{}\"; its options: {}.",
                                                    kind.name, option, Listed(kind.options)));
    }
    return kind.make(spec, task);
  }
  return absl::InvalidArgumentError(
      fmt::format("There is no generator \"{}\"; the generators are: {}.", spec.name(), Listed(names)));
}

}  // namespace fsr
