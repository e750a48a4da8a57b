// What a model is sent for a prompt: the dialogue that led to it, as messages.
#pragma once

#include <cstdint>
#include <vector>

#include "server/store/store.h"

namespace fsr {

// The system message, then the earlier turns of the prompt's lineage (each prompt with its answer, oldest first), then
// the prompt itself. A lineage is followed through the candidates: from the prompt's parent to the prompt that the
// parent answered, and so on. Pure: the same facts give the same messages, so that a prompt asked again after a crash
// is the same request.
std::vector<v1::Message> Conversation(const JobFacts& facts, const StoredPrompt& prompt);

int64_t EstimateTokens(const std::vector<v1::Message>& messages);

}  // namespace fsr
