// Which PTX instructions a GPU can be seen to execute: by counters of its own, a family of opcodes each. Pure.
//
// A family's counters may be wider than a prefix: 0 means that no instruction of the prefix was executed; more than 0
// means that some of the family was. Together with the prefix standing in the PTX, which is checked apart, that is as
// near as hardware comes. Where there is no counter (shfl, vote, bar, mbarrier, …) the answer is "unknown". A prefix
// such as "wgmma." asks for the instruction that works: its fences alone are 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fsr {

// The hardware metrics that tell about `prefix`, such as "wgmma." or "cp.async.bulk"; empty if there are none.
std::vector<std::string> MetricsOfInstruction(std::string_view prefix);

// Warp-level executions of the prefix's families, from values by metric name. nullopt: unknown.
std::optional<uint64_t> ExecutedInstructions(std::string_view prefix, const std::map<std::string, double>& metrics);

}  // namespace fsr
