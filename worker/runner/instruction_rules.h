// A task may require instructions, or forbid them: by PTX opcode prefix, such as "wgmma.".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fsr/v1/task.pb.h"

namespace fsr {

// How often each prefix that `task` asks for was executed, from executions by full opcode. All are in the result.
std::map<std::string, uint64_t> CountAskedFor(const v1::Task& task,
                                              const std::map<std::string, uint64_t>& executed_instructions);

// How often each prefix that `task` asks for stands in `ptx`: where a device does not count executions.
std::map<std::string, uint64_t> CountInPtx(const v1::Task& task, std::string_view ptx);

// The rule that is broken, in a sentence; nullopt if none is. `prefix` is what it is about.
struct BrokenRule {
  std::string prefix;
  std::string sentence;
};
std::optional<BrokenRule> FindBrokenRule(const v1::Task& task, const std::map<std::string, uint64_t>& counts);

}  // namespace fsr
