// Which prompts the next round asks: FSR as published, and the options of SearchStrategy that depart from it.
#pragma once

#include <vector>

#include "server/search/decide.h"

namespace fsr {

inline constexpr int kParentsMax = 16;
// Other failures that a merged prompt shows besides the one it is about.
inline constexpr int kMergedFailuresMax = 7;
// Rounds before anything is right that are not counted, with `free_repair_rounds`: the search must end.
inline constexpr int kFreeRepairRoundsMax = 32;
inline constexpr double kTemperatureMax = 2;

// The N prompts of the round after `last_round` (0: the first one). Pure.
//
// - Nothing is right yet: each failure of the last round gets its own prompt in its own dialogue; slots that are left
//   start afresh. With `merge_failures` every prompt of the round goes on from the nearest failure and shows the
//   others.
// - Something is right: performance prompts from the incumbent; with `parents` = k in turn from the k fastest right
//   candidates, the incumbent first. The last `repair_share` * N slots, rounded, mend the last round's NearMisses
//   instead, as far as there are any.
// - The temperature rises evenly from temperature_low in the first slot to temperature_high in the last.
// - Without `no_hints` each performance prompt but the first of a round suggests another direction to try first, by
//   what limits its kernel; the job's seed and the round say where in the list a round begins.
std::vector<PlannedPrompt> PlanRound(const JobFacts& facts, int last_round);

// The rounds up to `round` that count against round_count_max.
int CountedRounds(const JobFacts& facts, int round);

}  // namespace fsr
