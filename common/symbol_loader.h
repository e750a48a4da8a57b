// The functions of a library that is opened at run time.
#pragma once

#include <dlfcn.h>

#include <string>

namespace fsr {

// Finds functions of one library; the first missing one is remembered. REQUIRES: `library` is open.
class SymbolLoader {
 public:
  explicit SymbolLoader(void* library) : library_(library) {}
  template <typename Function>
  void Find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library_, name));
    if (*function == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace fsr
