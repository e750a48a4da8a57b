// What the names in a function body mean: { } nests, and a name declared inside hides one outside.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"

namespace fsr::sim::ptx {

struct Symbol {
  enum class Kind : uint8_t { kRegister, kVariable, kLabel };
  Kind kind = Kind::kRegister;
  std::string unique_name;    // within the function: the name itself in the outermost scope, "name#3" in an inner one
  uint32_t vector_width = 1;  // of a `.reg .v2`, whose elements are symbols "name.x", "name.y" of their own
};

class Scopes {
 public:
  static constexpr size_t kDepthMax = 256;

  // False if the scopes are nested too deeply.
  bool Push();
  void Pop() { scopes_.pop_back(); }
  size_t depth() const { return scopes_.size(); }

  // REQUIRES: depth() > 0. Null if the innermost scope has the name already. The pointer lives until the scope ends.
  const Symbol* Declare(std::string_view name, Symbol::Kind kind, uint32_t vector_width = 1);
  // The innermost one of that name; null if there is none.
  const Symbol* Find(std::string_view name) const;

 private:
  struct Scope {
    std::string suffix;
    std::unordered_map<std::string, Symbol> symbols;
  };
  std::vector<Scope> scopes_;
  uint32_t scope_count_ = 0;
};

}  // namespace fsr::sim::ptx
