// What counters say about a kernel, in sentences with their figures: what limits it, and what would help. Pure.
#pragma once

#include <string>
#include <vector>

#include "fsr/v1/evaluation.pb.h"
#include "worker/profile/counter_set.h"

namespace fsr {

inline constexpr size_t kProfileHintsMax = 6;

struct Findings {
  // The simulator's words: "memory", "l2", "l1", "issue", "compute", "launch", "latency"; empty if too little was
  // counted.
  std::string limited_by;
  std::vector<std::string> hints;  // the most telling first, at most kProfileHintsMax
};

// A rule whose counters are missing says nothing.
Findings Interpret(const std::vector<v1::Counter>& counters, const ProfiledPlan& plan);

}  // namespace fsr
