// Which candidate of a round, if any, becomes the incumbent.
#pragma once

#include <optional>

#include "server/search/decide.h"

namespace fsr {

// Remeasure, Wait or Promote; nullopt when no candidate of the round is to be promoted (any more). REQUIRES: every
// candidate of the round has a result, or may_wait is false: then only what is known already counts.
//
// Candidates are taken in the order of their latency. Against an incumbent the verdict of the two measured interleaved
// decides; latencies of different moments are compared only where there is no verdict, or for estimates, which have no
// noise. With `final_round_only` the round's fastest is promoted without a comparison.
std::optional<Decision> DecidePromotion(const JobFacts& facts, int round, bool may_wait);

}  // namespace fsr
