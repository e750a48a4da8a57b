// What to do next, decided from stored facts alone: no I/O, no clock, no randomness of its own.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "server/store/store.h"

namespace fsr {

// A prompt to be written: which branch, for which candidate, in which lineage.
struct PlannedPrompt {
  v1::Branch branch = v1::TASK;
  int dialogue = 0;          // 0: a new lineage
  int parent_candidate = 0;  // 0: none
};

namespace decision {
struct EvaluateBaseline {};
struct StartRound {
  int round = 0;
  std::vector<PlannedPrompt> prompts;
};
struct Ask {
  std::vector<int> prompts;
};  // unanswered prompts of the current round
struct MakeCandidates {
  std::vector<int> prompts;
};  // answered prompts without a candidate
struct Remeasure {
  int candidate = 0;
};  // against the incumbent, since the verdict was AMBIGUOUS
struct Promote {
  int candidate = 0;
};
struct End {
  v1::Job::State state = v1::Job::FINISHED;
  std::string reason;
};
struct Wait {};  // for evaluations that are under way
}  // namespace decision

using Decision = std::variant<decision::EvaluateBaseline, decision::StartRound, decision::Ask, decision::MakeCandidates,
                              decision::Remeasure, decision::Promote, decision::End, decision::Wait>;

// `exhausted`: the generator has said that it has nothing more to propose.
Decision Decide(const JobFacts& facts, absl::Time now, bool exhausted);

}  // namespace fsr
