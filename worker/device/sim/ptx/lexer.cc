#include "worker/device/sim/ptx/lexer.h"

#include <fmt/format.h>

#include "worker/device/sim/ptx/literal.h"

namespace fsr::sim::ptx {
namespace {

constexpr size_t kTokenShownMax = 40;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
bool IsWordPart(char c) { return (IsWordStart(c) && c != '%') || IsDigit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    while (true) {
      if (absl::Status status = SkipBlanks(); !status.ok()) return status;
      if (position_ >= text_.size()) break;
      absl::StatusOr<Token> token = Next();
      if (!token.ok()) return token.status();
      tokens.push_back(*token);
    }
    tokens.push_back({Token::Kind::kEnd, {}, line_});
    return tokens;
  }

 private:
  char At(size_t position) const { return position < text_.size() ? text_[position] : '\0'; }

  absl::Status SkipBlanks() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '\n') {
        ++line_;
        ++position_;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++position_;
      } else if (c == '/' && At(position_ + 1) == '/') {
        while (position_ < text_.size() && text_[position_] != '\n') ++position_;
      } else if (c == '/' && At(position_ + 1) == '*') {
        const size_t close = text_.find("*/", position_ + 2);
        if (close == std::string_view::npos) return ErrorAt(line_, "this comment is never closed");
        for (; position_ < close + 2; ++position_) line_ += text_[position_] == '\n';
      } else {
        break;
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Token> Next() {
    const size_t begin = position_;
    const char c = text_[begin];
    if (IsWordStart(c)) return Make(Token::Kind::kWord, begin, WordEnd(begin + 1));
    if (IsDigit(c)) return Make(Token::Kind::kNumber, begin, NumberEnd(begin));
    if (c == '.' && IsWordPart(At(begin + 1))) {
      size_t end = begin + 1;
      while (IsWordPart(At(end))) ++end;
      return Make(Token::Kind::kDirective, begin, end);
    }
    if (c == '"') {
      const size_t close = text_.find_first_of("\"\n", begin + 1);
      if (close == std::string_view::npos || text_[close] == '\n') return ErrorAt(line_, "this string is never closed");
      position_ = close + 1;
      return Token{Token::Kind::kString, text_.substr(begin + 1, close - begin - 1), line_};
    }
    constexpr std::string_view kPunctuation = ",;:(){}[]<>@!|&^~+-*/%=?";
    if (kPunctuation.find(c) != std::string_view::npos) return Make(Token::Kind::kPunctuation, begin, begin + 1);
    return ErrorAt(line_, fmt::format("a character that is not PTX (code {})", static_cast<unsigned char>(c)));
  }

  Token Make(Token::Kind kind, size_t begin, size_t end) {
    position_ = end;
    // A lone '%' is the remainder operator of a constant expression.
    if (kind == Token::Kind::kWord && end - begin == 1 && text_[begin] == '%') kind = Token::Kind::kPunctuation;
    return Token{kind, text_.substr(begin, end - begin), line_};
  }

  // Modifiers belong to the opcode: ".x" and "::x" are joined to the word before them.
  size_t WordEnd(size_t end) const {
    while (true) {
      if (IsWordPart(At(end))) {
        ++end;
      } else if (At(end) == '.' && IsWordPart(At(end + 1))) {
        end += 2;
      } else if (At(end) == ':' && At(end + 1) == ':' && IsWordPart(At(end + 2))) {
        end += 3;
      } else {
        return end;
      }
    }
  }

  size_t NumberEnd(size_t begin) const {
    const bool has_prefix = At(begin) == '0' && IsWordPart(At(begin + 1)) && !IsDigit(At(begin + 1));
    size_t end = begin;
    while (true) {
      const char c = At(end);
      if (IsWordPart(c) || c == '.') {
        ++end;
      } else if ((c == '+' || c == '-') && !has_prefix && end > begin &&
                 (text_[end - 1] == 'e' || text_[end - 1] == 'E')) {
        ++end;
      } else {
        return end;
      }
    }
  }

  std::string_view text_;
  size_t position_ = 0;
  uint32_t line_ = 1;
};

}  // namespace

absl::StatusOr<std::vector<Token>> Lex(std::string_view text) { return Lexer(text).Run(); }

absl::Status ErrorAt(uint32_t line, std::string_view message) {
  return absl::InvalidArgumentError(fmt::format("PTX line {}: {}", line, message));
}

const Token& Cursor::Take() {
  const Token& token = Peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool Cursor::TakeIf(std::string_view text) {
  if (!Is(text)) return false;
  Take();
  return true;
}

absl::Status Cursor::Expect(std::string_view text) {
  if (TakeIf(text)) return absl::OkStatus();
  return Expected(fmt::format("'{}'", text));
}

absl::StatusOr<std::string_view> Cursor::ExpectWord(std::string_view what) {
  if (!IsKind(Token::Kind::kWord)) return Expected(what);
  return Take().text;
}

absl::StatusOr<uint64_t> Cursor::ExpectInteger(std::string_view what) {
  if (!IsKind(Token::Kind::kNumber)) return Expected(what);
  const std::optional<Literal> literal = ParseLiteral(Peek().text);
  if (!literal || literal->is_float) return Expected(what);
  Take();
  return literal->bits;
}

absl::Status Cursor::SkipPast(std::string_view text) {
  while (!AtEnd()) {
    if (TakeIf(text)) return absl::OkStatus();
    Take();
  }
  return Expected(fmt::format("'{}'", text));
}

absl::Status Cursor::Expected(std::string_view what) const {
  if (AtEnd()) return ErrorAt(Peek().line, fmt::format("expected {}, but the text ends here", what));
  return ErrorAt(Peek().line, fmt::format("expected {}, found '{}'", what, Peek().text.substr(0, kTokenShownMax)));
}

}  // namespace fsr::sim::ptx
