// The generator "mailbox": no model of ours. Its prompts wait in the store until somebody answers them through the API:
// an agent, a script, a person.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "server/generators/generator.h"

namespace fsr {

absl::StatusOr<std::unique_ptr<Generator>> NewMailbox(const v1::GeneratorSpec& spec, const v1::Task& task);

}  // namespace fsr
