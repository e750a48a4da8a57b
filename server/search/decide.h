// What to do next, decided from stored facts alone: no I/O, no clock, no randomness of its own.
//
// Every decision follows from the facts, so it is found again after a crash: what was done stands in the facts, and
// what does not stand there was not done.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "server/store/store.h"

namespace fsr {

inline constexpr int kRoundsDefault = 8;
inline constexpr int kCandidatesPerRoundDefault = 8;
// Candidates of one round that are measured again since their verdict was AMBIGUOUS, the fastest first.
inline constexpr int kRemeasuredPerRoundMax = 4;

// A prompt to be written: which branch, for which candidate, in which lineage.
struct PlannedPrompt {
  v1::Branch branch = v1::TASK;
  int dialogue = 0;                                  // 0: a new lineage
  int parent_candidate = 0;                          // 0: none
  std::string hint = "";                             // a direction to try first; empty: none
  std::optional<double> temperature = std::nullopt;  // nullopt: the model's own
  std::vector<int> other_failures = {};              // candidates that a merged prompt shows besides its parent

  bool operator==(const PlannedPrompt&) const = default;
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

// `exhausted`: the generator has said that it has nothing more to propose. REQUIRES: the job has not ended.
//
// 1. The baseline is evaluated; a job whose baseline is not right FAILS.
// 2. A round of N prompts begins; each is answered, each answer becomes a candidate, each candidate has a result.
// 3. The fastest right candidate of the round is promoted if it beats the incumbent (with `final_round_only` also if it
//    does not): at most one a round.
// 4. A stop rule ends the job, or the next round begins, as PlanRound plans it.
// A job that has used up its time skips all waiting: what is known then is promoted, and the job ends.
Decision Decide(const JobFacts& facts, absl::Time now, bool exhausted);

// When the job's wall time is used up; the infinite future without such a limit. A waiting job is to be looked at then.
absl::Time WallDeadline(const v1::Job& job);

// Which budget of the job its calls to models have used up, as a sentence; nullopt: there is something left. No call is
// made any more then; answers that are there still count.
std::optional<std::string> BudgetUsedUp(const v1::JobOptions& options, const v1::Usage& usage);

// Right on every case, and timed.
bool IsRight(const v1::Evaluation& evaluation);

// nullptr: no such number.
const StoredCandidate* FindCandidate(const JobFacts& facts, int number);

}  // namespace fsr
