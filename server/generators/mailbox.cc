#include "server/generators/mailbox.h"

namespace fsr {
namespace {

class Mailbox : public Generator {
 public:
  bool AnsweredFromOutside() const override { return true; }
  absl::Status Answer(const JobFacts&, const std::vector<StoredPrompt>&, AnswerSink&) override {
    return absl::InternalError("A mailbox is answered through the API.");
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Generator>> NewMailbox(const v1::GeneratorSpec& /*spec*/, const v1::Task& /*task*/) {
  return std::make_unique<Mailbox>();
}

}  // namespace fsr
