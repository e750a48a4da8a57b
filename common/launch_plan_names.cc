#include <map>
#include <set>

#include "common/launch_plan_parts.h"
#include "common/near_miss.h"
#include "common/status.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace fsr {
namespace {

// What the names of a plan and its task stand for.
class NameTable {
 public:
  NameTable(const LaunchPlan& plan, const v1::Task& task, Complaints* complaints)
      : plan_(plan), complaints_(*complaints) {
    for (const v1::Parameter& parameter : task.parameters()) kinds_[parameter.name()] = KindOf(parameter.role());
    for (const Tunable& tunable : plan.tunables) Define(tunable.name, Kind::kTunable, tunable.line, "tune");
    for (const ScratchBuffer& scratch : plan.scratch) Define(scratch.name, Kind::kScratch, scratch.line, "scratch");
    for (const TensorMap& map : plan.tensor_maps) Define(map.name, Kind::kTensorMap, map.line, "tensor_map");
  }

  void CheckAll() {
    for (const ScratchBuffer& scratch : plan_.scratch) {
      CheckExpression(scratch.count, fmt::format("{}: scratch", LineName(scratch.line)));
    }
    for (const Fill& fill : plan_.fills) CheckFill(fill);
    for (const TensorMap& map : plan_.tensor_maps) CheckTensorMap(map);
    for (const Launch& launch : plan_.launches) CheckLaunch(launch);
  }

 private:
  enum class Kind { kInput, kWritable, kSize, kScalar, kTunable, kScratch, kTensorMap };

  static Kind KindOf(v1::Parameter::Role role) {
    switch (role) {
      case v1::Parameter::OUTPUT:
      case v1::Parameter::INOUT:
        return Kind::kWritable;
      case v1::Parameter::SIZE:
        return Kind::kSize;
      case v1::Parameter::SCALAR:
        return Kind::kScalar;
      default:
        return Kind::kInput;
    }
  }

  static std::string_view Describe(Kind kind) {
    static constexpr std::string_view kDescriptions[] = {
        "an input buffer", "an output buffer", "a size", "a scalar", "a tunable", "a scratch buffer", "a tensor map"};
    return kDescriptions[static_cast<size_t>(kind)];
  }

  void Define(const std::string& name, Kind kind, int line, std::string_view directive) {
    const auto [found, inserted] = kinds_.emplace(name, kind);
    if (!inserted) {
      complaints_.Add(fmt::format("{}: {}: the name {} is taken: it is already {}", LineName(line), directive, name,
                                  Describe(found->second)));
    }
  }

  std::vector<std::string> NamesOf(const std::set<Kind>& kinds) const {
    std::vector<std::string> names;
    for (const auto& [name, kind] : kinds_) {
      if (kinds.count(kind) != 0) names.push_back(name);
    }
    return names;
  }

  // Complains unless `name` is one of `kinds`.
  void CheckUse(const std::string& name, const std::set<Kind>& kinds, std::string_view where,
                std::string_view what) const {
    const auto found = kinds_.find(name);
    if (found != kinds_.end() && kinds.count(found->second) != 0) return;
    const std::vector<std::string> known = NamesOf(kinds);
    const std::string is = found == kinds_.end() ? fmt::format("{} is not known", name)
                                                 : fmt::format("{} is {}", name, Describe(found->second));
    const std::string choice = known.empty() ? "there is none" : fmt::format("there is {}", fmt::join(known, ", "));
    complaints_.Add(fmt::format("{}: {}, {} is needed here: {}{}", where, is, what, choice, DidYouMean(name, known)));
  }

  void CheckExpression(const SizeExpression& expression, std::string_view where) const {
    for (const std::string& name : expression.Names()) {
      CheckUse(name, {Kind::kSize, Kind::kTunable}, where, "a size or a tunable");
    }
  }

  void CheckExpressions(const std::vector<SizeExpression>& expressions, std::string_view where,
                        std::string_view key) const {
    for (const SizeExpression& expression : expressions) CheckExpression(expression, fmt::format("{}: {}", where, key));
  }

  void CheckFill(const Fill& fill) {
    const std::string where = fmt::format("{}: fill", LineName(fill.line));
    CheckUse(fill.buffer, {Kind::kWritable, Kind::kScratch}, where, "an output or scratch buffer");
    if (!filled_.insert(fill.buffer).second) complaints_.Add(fmt::format("{}: {} is filled twice", where, fill.buffer));
  }

  void CheckTensorMap(const TensorMap& map) const {
    const std::string where = fmt::format("{}: tensor_map", LineName(map.line));
    CheckUse(map.buffer, {Kind::kInput, Kind::kWritable, Kind::kScratch}, where, "a buffer");
    CheckExpressions(map.dims, where, "dims");
    CheckExpressions(map.box, where, "box");
  }

  void CheckLaunch(const Launch& launch) const {
    const std::string where = fmt::format("{}: launch", LineName(launch.line));
    CheckExpressions(launch.grid, where, "grid");
    CheckExpressions(launch.block, where, "block");
    CheckExpressions(launch.cluster, where, "cluster");
    CheckExpression(launch.shared, where + ": shared");
    for (const std::string& argument : launch.args) CheckArgument(argument, where + ": args");
  }

  void CheckArgument(const std::string& argument, const std::string& where) const {
    if (kinds_.count(argument) != 0) return;
    if (IsIdentifier(argument)) {
      const std::set<Kind> all = {Kind::kInput,   Kind::kWritable, Kind::kSize,     Kind::kScalar,
                                  Kind::kTunable, Kind::kScratch,  Kind::kTensorMap};
      return CheckUse(argument, all, where, "a parameter, scratch buffer, tensor map, size or tunable");
    }
    const absl::StatusOr<SizeExpression> expression = SizeExpression::Parse(argument);
    complaints_.AddWithContext(where, expression.status());
    if (expression.ok()) CheckExpression(*expression, where);
  }

  const LaunchPlan& plan_;
  Complaints& complaints_;
  std::map<std::string, Kind> kinds_;
  std::set<std::string> filled_;
};

}  // namespace

void CheckPlanNames(const LaunchPlan& plan, const v1::Task& task, Complaints* complaints) {
  NameTable(plan, task, complaints).CheckAll();
}

}  // namespace fsr
