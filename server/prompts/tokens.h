// How long a text is for a model, without a tokenizer of its own.
#pragma once

#include <cstdint>
#include <string_view>

namespace fsr {

// An estimate from above for code and English: 3 bytes a token (the tokenizers of current models take 3 to 4).
constexpr int64_t EstimateTokens(std::string_view text) { return (static_cast<int64_t>(text.size()) + 2) / 3; }

}  // namespace fsr
