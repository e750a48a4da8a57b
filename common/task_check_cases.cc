#include <set>

#include "common/argument_value.h"
#include "common/near_miss.h"
#include "common/quote.h"
#include "common/task_check_parts.h"
#include "common/task_loader.h"
#include "fmt/format.h"

namespace fsr {
namespace {

constexpr size_t kCaseNameBytesMax = 256;

std::vector<std::string> NamesOf(const v1::Task& task, const std::set<v1::Parameter::Role>& roles) {
  std::vector<std::string> names;
  for (const v1::Parameter& parameter : task.parameters()) {
    if (roles.count(parameter.role()) != 0) names.push_back(parameter.name());
  }
  return names;
}

// Complains of keys of `values` that are no parameter of one of `roles`.
template <typename Value>
void CheckKeys(const v1::Task& task, const google::protobuf::Map<std::string, Value>& values,
               const std::set<v1::Parameter::Role>& roles, const std::string& where, Complaints* complaints) {
  const std::vector<std::string> known = NamesOf(task, roles);
  std::set<std::string> keys;
  for (const auto& [key, value] : values) keys.insert(key);
  for (const std::string& name : known) keys.erase(name);
  for (const std::string& key : keys) {
    complaints->Add(fmt::format("{}: {} is no such parameter{}", where, Quoted(key), DidYouMean(key, known)));
  }
}

void CheckSize(const v1::Parameter& parameter, const v1::Case& which, const std::string& where,
               Complaints* complaints) {
  const auto size = which.sizes().find(parameter.name());
  if (size == which.sizes().end()) {
    return complaints->Add(fmt::format("{}: sizes: {} is missing", where, parameter.name()));
  }
  if (size->second < 0) {
    return complaints->Add(fmt::format("{}: sizes: {} is {}, below 0", where, parameter.name(), size->second));
  }
  complaints->AddWithContext(fmt::format("{}: sizes: {}", where, parameter.name()),
                             IntegerArgument(parameter.type(), size->second).status());
}

void CheckScalar(const v1::Parameter& parameter, const v1::Case& which, const std::string& where,
                 Complaints* complaints) {
  const auto scalar = which.scalars().find(parameter.name());
  if (scalar == which.scalars().end()) {
    return complaints->Add(fmt::format("{}: scalars: {} is missing", where, parameter.name()));
  }
  complaints->AddWithContext(fmt::format("{}: scalars: {}", where, parameter.name()),
                             ScalarArgument(parameter.type(), scalar->second).status());
}

void CheckCase(const v1::Task& task, const v1::Case& which, const std::string& where, Complaints* complaints) {
  if (which.name().size() > kCaseNameBytesMax || !IsUtf8(which.name())) {
    complaints->Add(fmt::format("{}: name: it must be UTF-8 of at most {} bytes", where, kCaseNameBytesMax));
  }
  CheckKeys(task, which.sizes(), {v1::Parameter::SIZE}, where + ": sizes", complaints);
  CheckKeys(task, which.scalars(), {v1::Parameter::SCALAR}, where + ": scalars", complaints);
  CheckKeys(task, which.data(), {v1::Parameter::INPUT, v1::Parameter::INOUT}, where + ": data", complaints);
  for (const v1::Parameter& parameter : task.parameters()) {
    if (parameter.role() == v1::Parameter::SIZE) CheckSize(parameter, which, where, complaints);
    if (parameter.role() == v1::Parameter::SCALAR) CheckScalar(parameter, which, where, complaints);
    const auto data = which.data().find(parameter.name());
    if (data == which.data().end()) continue;
    CheckData(task, data->second, fmt::format("{}: data: {}", where, parameter.name()), complaints);
  }
}

}  // namespace

void ForEachCase(const v1::Task& task, const std::function<void(const v1::Case&, const std::string&)>& visit) {
  for (int i = 0; i < task.cases_size(); ++i) {
    const std::string shown = Quoted(NameOf(task.cases(i)));
    visit(task.cases(i), fmt::format("cases[{}] ({})", i, shown.substr(1, shown.size() - 2)));
  }
  if (task.has_measure()) visit(task.measure(), "measure");
  if (task.has_measure_simulated()) visit(task.measure_simulated(), "measure_simulated");
}

void CheckCases(const v1::Task& task, Complaints* complaints) {
  if (task.cases_size() > kCasesMax) {
    return complaints->Add(fmt::format("cases: {} are more than the {} allowed", task.cases_size(), kCasesMax));
  }
  std::set<std::string> names;
  bool shown = false;
  for (int i = 0; i < task.cases_size(); ++i) {
    const std::string name = NameOf(task.cases(i));
    shown = shown || !task.cases(i).held_out();
    if (!names.insert(name).second) {
      complaints->Add(
          fmt::format("cases[{}]: another case is called {}, too; give this one a name of its own", i, Quoted(name)));
    }
  }
  if (!shown) complaints->Add("cases: at least one that is not held out is needed");
  if (!task.has_measure()) complaints->Add("measure: it is missing; say on which sizes kernels are timed");
  if (task.measure().held_out() || task.measure_simulated().held_out()) {
    complaints->Add("measure: the generator must know it, so it cannot be held out");
  }
  ForEachCase(task,
              [&](const v1::Case& which, const std::string& where) { CheckCase(task, which, where, complaints); });
}

}  // namespace fsr
