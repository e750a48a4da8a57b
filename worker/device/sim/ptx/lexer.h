// PTX text into tokens, and a cursor that reads them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fsr::sim::ptx {

struct Token {
  enum class Kind : uint8_t {
    kWord,         // an identifier or an opcode, with what is joined to it: "ld.global.f32", "%tid.x", "$L__BB0_2"
    kDirective,    // ".reg": always one part, so that ".reg.b16" is two tokens
    kNumber,       // not yet converted
    kString,       // without its quotes
    kPunctuation,  // one character; "<<" and the like are two tokens
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string_view text;  // of the text that was lexed, which must outlive the token
  uint32_t line = 0;      // from 1
};

// The tokens of `text`, the last one kEnd. INVALID_ARGUMENT names the line of what is no token.
absl::StatusOr<std::vector<Token>> Lex(std::string_view text);

// Reads tokens one after another; at the end it stays on kEnd.
class Cursor {
 public:
  // REQUIRES: `tokens` ends with kEnd and outlives the cursor.
  explicit Cursor(const std::vector<Token>& tokens) : tokens_(tokens) {}

  const Token& Peek(size_t ahead = 0) const {
    return tokens_[position_ + ahead < tokens_.size() ? position_ + ahead : tokens_.size() - 1];
  }
  const Token& Take();
  bool AtEnd() const { return Peek().kind == Token::Kind::kEnd; }
  // Whether the next token is this punctuation, directive or word.
  bool Is(std::string_view text) const { return Peek().text == text && Peek().kind != Token::Kind::kString; }
  bool IsKind(Token::Kind kind) const { return Peek().kind == kind; }
  bool TakeIf(std::string_view text);

  absl::Status Expect(std::string_view text);
  absl::StatusOr<std::string_view> ExpectWord(std::string_view what);  // `what`: "a function name"
  absl::StatusOr<uint64_t> ExpectInteger(std::string_view what);
  // Skips past the next `text`, which must come.
  absl::Status SkipPast(std::string_view text);

  // INVALID_ARGUMENT: "PTX line 12: expected `what`, found 'x'".
  absl::Status Expected(std::string_view what) const;

 private:
  const std::vector<Token>& tokens_;
  size_t position_ = 0;
};

// INVALID_ARGUMENT: "PTX line 12: `message`".
absl::Status ErrorAt(uint32_t line, std::string_view message);

}  // namespace fsr::sim::ptx
