// Which failures are worth mending.
#pragma once

#include <vector>

#include "server/store/store.h"

namespace fsr {

// So often in a row a lineage is mended; then its failure is given up.
inline constexpr int kRepairsInARowMax = 2;

// The failures of `round` that were evaluated, the nearest to right first:
// 1. by outcome: MISMATCH; RUNTIME_FAULT, LAUNCH_ERROR and TIMEOUT; COMPILE_ERROR; REJECTED. UNSUPPORTED says nothing
//    about the kernel and is left out, as are duplicates and lineages that were mended kRepairsInARowMax times;
// 2. of mismatches, the one with the smaller part of its elements wrong, over all cases;
// 3. the one that was mended less often in a row;
// 4. the one that comes from the faster kernel; then the earlier one.
std::vector<const StoredCandidate*> NearMisses(const JobFacts& facts, int round);

// How many of the prompts that led to `candidate`, one after the other, mended a failure.
int RepairsInARow(const JobFacts& facts, const StoredCandidate& candidate);

}  // namespace fsr
