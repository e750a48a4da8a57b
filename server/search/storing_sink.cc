#include "server/search/storing_sink.h"

#include "common/status_macros.h"
#include "common/utf8.h"
#include "server/search/decide.h"

namespace fsr {
namespace {

Store::NewCompletion Storable(Completion completion) {
  std::string text = ToUtf8(completion.text);
  if (text.size() > kCompletionBytesMax) {
    text.resize(kCompletionBytesMax);
    text = ToUtf8(text);  // the cut may have gone through a character
  }
  return {completion.prompt, std::move(text), ToUtf8(completion.change)};
}

std::vector<Store::NewCompletion> Storable(std::vector<Completion> completions) {
  std::vector<Store::NewCompletion> storable;
  for (Completion& completion : completions) storable.push_back(Storable(std::move(completion)));
  return storable;
}

}  // namespace

absl::Status StoringSink::Deliver(std::vector<Completion> completions) {
  for (const Store::NewCompletion& completion : Storable(std::move(completions))) {
    RETURN_IF_ERROR(Keep(store_.StoreCompletion(job_, completion.prompt, completion.text, completion.change)));
  }
  RETURN_IF_ERROR(Keep(on_stored_()));
  return stopping_ ? absl::CancelledError("The coordinator is stopping.") : absl::OkStatus();
}

absl::StatusOr<uint32_t> StoringSink::Begin(v1::ModelCall call) {
  const absl::StatusOr<v1::Usage> usage = store_.UsageOf(job_);
  RETURN_IF_ERROR(Keep(usage.status()));
  if (const auto used_up = BudgetUsedUp(options_, *usage)) return absl::ResourceExhaustedError(*used_up);
  absl::StatusOr<uint32_t> number = store_.BeginCall(job_, std::move(call));
  RETURN_IF_ERROR(Keep(number.status()));
  return number;
}

absl::Status StoringSink::End(const v1::ModelCall& call, std::vector<Completion> completions) {
  const bool answered = !completions.empty();
  RETURN_IF_ERROR(Keep(store_.EndCall(job_, call, Storable(std::move(completions)))));
  return answered ? Keep(on_stored_()) : absl::OkStatus();
}

bool StoringSink::Cancelled() const {
  if (stopping_) return true;
  const absl::StatusOr<bool> ended = store_.HasJobEnded(job_);
  return ended.ok() && *ended;
}

absl::Status StoringSink::Keep(absl::Status status) {
  trouble_.Update(status);
  return status;
}

}  // namespace fsr
