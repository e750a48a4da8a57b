// Where candidates come from: a model, a search over tunables, a recording.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fsr/v1/search.pb.h"
#include "server/store/store.h"

namespace fsr {

inline constexpr int kCompletionBytesMax = 1 << 20;

struct Completion {
  std::string text;    // the whole answer; the candidate is its last ``` block
  std::string change;  // one line for people; may be empty
};

// Called by one job at a time; several jobs have a generator each.
class Generator {
 public:
  virtual ~Generator() = default;
  // How many candidates a round has where the job asks for no number; 0: no opinion.
  virtual int candidates_per_round_default() const { return 0; }
  // Answers each of `prompts` (all of one round, all unanswered) and hands each answer to `deliver` as soon as it is
  // there: it is then stored. `facts` is all that is known about the job, measurements included.
  // OUT_OF_RANGE: there is nothing more to propose (those delivered before still count). UNAVAILABLE: try again later;
  // anything else ends the job with this sentence.
  virtual absl::Status Answer(const JobFacts& facts, const std::vector<StoredPrompt>& prompts,
                              const std::function<absl::Status(int prompt, const Completion&)>& deliver) = 0;
};

// "tune" and "replay". INVALID_ARGUMENT lists the known ones, or says which option is wrong.
absl::StatusOr<std::unique_ptr<Generator>> NewGenerator(const v1::GeneratorSpec& spec, const v1::Task& task);

}  // namespace fsr
