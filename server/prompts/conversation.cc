#include "server/prompts/conversation.h"

#include <algorithm>

#include "server/prompts/tokens.h"
#include "server/search/decide.h"

namespace fsr {
namespace {

v1::Message MessageOf(v1::Message::Role role, const std::string& text, const StoredPrompt& prompt) {
  v1::Message message;
  message.set_role(role);
  message.set_text(text);
  message.set_round(static_cast<uint32_t>(prompt.round));
  if (role == v1::Message::USER) message.set_branch(prompt.branch);
  if (role == v1::Message::ASSISTANT && prompt.candidate != 0) {
    message.set_candidate(std::to_string(prompt.candidate));
  }
  return message;
}

// The prompt that led to the parent of `prompt`; nullptr: it begins a lineage.
const StoredPrompt* Before(const JobFacts& facts, const StoredPrompt& prompt) {
  const StoredCandidate* parent = FindCandidate(facts, prompt.parent_candidate);
  if (parent == nullptr || parent->prompt >= prompt.number) return nullptr;
  return &facts.prompts.at(static_cast<size_t>(parent->prompt) - 1);
}

}  // namespace

std::vector<v1::Message> Conversation(const JobFacts& facts, const StoredPrompt& prompt) {
  std::vector<const StoredPrompt*> turns;  // newest first
  for (const StoredPrompt* turn = Before(facts, prompt); turn != nullptr; turn = Before(facts, *turn)) {
    turns.push_back(turn);
  }
  std::reverse(turns.begin(), turns.end());
  std::vector<v1::Message> messages = {MessageOf(v1::Message::SYSTEM, prompt.system_text, prompt)};
  for (const StoredPrompt* turn : turns) {
    messages.push_back(MessageOf(v1::Message::USER, turn->user_text, *turn));
    messages.push_back(MessageOf(v1::Message::ASSISTANT, turn->completion.value_or(""), *turn));
  }
  messages.push_back(MessageOf(v1::Message::USER, prompt.user_text, prompt));
  return messages;
}

int64_t EstimateTokens(const std::vector<v1::Message>& messages) {
  int64_t tokens = 0;
  for (const v1::Message& message : messages) tokens += EstimateTokens(message.text());
  return tokens;
}

}  // namespace fsr
