#include "worker/device/sim/ptx/scope.h"

#include <fmt/format.h>

namespace fsr::sim::ptx {

bool Scopes::Push() {
  if (scopes_.size() == kDepthMax) return false;
  // '#' is in no PTX name.
  scopes_.push_back({scopes_.empty() ? std::string() : fmt::format("#{}", ++scope_count_), {}});
  return true;
}

const Symbol* Scopes::Declare(std::string_view name, Symbol::Kind kind, uint32_t vector_width) {
  Scope& scope = scopes_.back();
  const auto [entry, inserted] = scope.symbols.try_emplace(std::string(name));
  if (!inserted) return nullptr;
  entry->second = {kind, std::string(name) + scope.suffix, vector_width};
  return &entry->second;
}

const Symbol* Scopes::Find(std::string_view name) const {
  const std::string key(name);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto entry = scope->symbols.find(key); entry != scope->symbols.end()) return &entry->second;
  }
  return nullptr;
}

}  // namespace fsr::sim::ptx
