// Where candidates come from: a model, a search over tunables, a recording.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fsr/v1/search.pb.h"
#include "server/answers/limits.h"
#include "server/store/store.h"

namespace fsr {

struct Completion {
  int prompt = 0;      // the number of the prompt that it answers
  std::string text;    // the whole answer
  std::string change;  // one line for people; may be empty
};

// Where a generator's answers and calls are stored, each before anything is done with it. Used by the thread that
// called Answer alone. An error of any method is the store's (but see Begin): Answer returns it at once.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  // Stores answers that cost no call.
  virtual absl::Status Deliver(std::vector<Completion> completions) = 0;
  // Stores that a call is about to be made; its number. RESOURCE_EXHAUSTED: a budget of the job is used up, so it must
  // not be made: Answer ends its other calls and returns OK.
  virtual absl::StatusOr<uint32_t> Begin(v1::ModelCall call) = 0;
  // Stores what came of call `call.number()`, together with the answers that it brought (none: it failed, was lost, or
  // has to be continued).
  virtual absl::Status End(const v1::ModelCall& call, std::vector<Completion> completions) = 0;
  // The job has ended or the server stops: calls under way are to be broken off at once.
  virtual bool Cancelled() const = 0;
};

// Called by one job at a time; several jobs have a generator each.
class Generator {
 public:
  virtual ~Generator() = default;
  // How many candidates a round has where the job asks for no number; 0: no opinion.
  virtual int candidates_per_round_default() const { return 0; }
  // True: answers come through the API (`mailbox`), Answer is never called.
  virtual bool AnsweredFromOutside() const { return false; }
  // Answers each of `prompts` (all of one round, all unanswered) and hands each answer to `sink` as soon as it is
  // there. `facts` is all that is known about the job, measurements included. OUT_OF_RANGE: there is nothing more to
  // propose (those delivered before still count). UNAVAILABLE: try again later; anything else ends the job with this
  // sentence.
  virtual absl::Status Answer(const JobFacts& facts, const std::vector<StoredPrompt>& prompts, AnswerSink& sink) = 0;
};

// "tune", "replay" and "mailbox". INVALID_ARGUMENT lists the known ones, or says which option is wrong.
absl::StatusOr<std::unique_ptr<Generator>> NewGenerator(const v1::GeneratorSpec& spec, const v1::Task& task);

}  // namespace fsr
