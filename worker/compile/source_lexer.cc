#include "worker/compile/source_lexer.h"

#include <cstddef>
#include <utility>

namespace fsr {
namespace {

constexpr size_t kRawDelimiterBytesMax = 16;
constexpr char kEnd = '\0';

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWord(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Lexer {
 public:
  Lexer(std::string_view source, const LexOptions& options) : source_(source), options_(options) { Normalise(); }

  std::vector<SourceToken> Run() {
    while (Peek() != kEnd) Step();
    return std::move(tokens_);
  }

 private:
  // Characters after splicing; position_ is always at one, never at a splice.
  char Peek() const { return position_ < source_.size() ? Current() : kEnd; }
  char PeekSecond() const {
    Lexer ahead(*this, position_);
    ahead.Advance();
    return ahead.Peek();
  }
  // A cheap copy that looks ahead.
  Lexer(const Lexer& other, size_t position) : source_(other.source_), options_(other.options_), position_(position) {}

  bool TrigraphAt(size_t at, char third) const {
    return options_.trigraphs && source_.substr(at, 2) == "??" && at + 2 < source_.size() && source_[at + 2] == third;
  }
  char Current() const {
    if (TrigraphAt(position_, '=')) return '#';
    if (TrigraphAt(position_, '/')) return '\\';
    return source_[position_] == kEnd ? ' ' : source_[position_];
  }
  size_t CurrentBytes() const { return TrigraphAt(position_, '=') || TrigraphAt(position_, '/') ? 3 : 1; }

  // Skips the splices at position_.
  void Normalise() {
    for (;;) {
      size_t at = position_;
      if (TrigraphAt(at, '/')) {
        at += 3;
      } else if (at < source_.size() && source_[at] == '\\') {
        at += 1;
      } else {
        return;
      }
      while (options_.blanks_in_splice && at < source_.size() && IsBlank(source_[at])) ++at;
      if (at < source_.size() && source_[at] == '\r') ++at;
      if (at >= source_.size() || source_[at] != '\n') return;
      position_ = at + 1;
      ++line_;
    }
  }
  void Advance() {
    if (position_ >= source_.size()) return;
    if (source_[position_] == '\n') ++line_;
    position_ += CurrentBytes();
    Normalise();
  }

  void Step() {
    char c = Peek();
    if (c == '\n') {
      at_line_start_ = true;
      hash_before_ = false;
      header_expected_ = Header::kNo;
      Advance();
    } else if (IsBlank(c)) {
      Advance();
    } else if (c == '/' && PeekSecond() == '/') {
      while (Peek() != kEnd && Peek() != '\n') Advance();
    } else if (c == '/' && PeekSecond() == '*') {
      SkipBlockComment();
    } else if (header_expected_ == Header::kHere && (c == '"' || c == '<')) {
      LexHeaderName(c == '<' ? '>' : '"');
    } else if (c == '"' || c == '\'') {
      LexQuoted(c);
    } else if (IsDigit(c) || (c == '.' && IsDigit(PeekSecond()))) {
      LexNumber();
    } else if (IsWord(c)) {
      LexWord();
    } else {
      LexPunctuation(c);
    }
  }

  void SkipBlockComment() {
    Advance();
    Advance();
    char previous = kEnd;
    while (Peek() != kEnd && !(previous == '*' && Peek() == '/')) {
      previous = Peek();
      Advance();
    }
    Advance();
  }

  void LexHeaderName(char end) {
    Emit(SourceToken::Kind::kHeaderName);
    Advance();
    while (Peek() != kEnd && Peek() != '\n' && Peek() != end) {
      tokens_.back().text.push_back(Peek());
      Advance();
    }
    if (Peek() == end) Advance();
    header_expected_ = Header::kNo;
  }

  // A literal that is not closed ends with its line.
  void LexQuoted(char quote) {
    Emit(SourceToken::Kind::kLiteral);
    Advance();
    while (Peek() != kEnd && Peek() != '\n' && Peek() != quote) {
      if (Peek() == '\\') Advance();
      if (Peek() != '\n') Advance();
    }
    if (Peek() == quote) Advance();
  }

  void LexNumber() {
    Emit(SourceToken::Kind::kNumber);
    char previous = kEnd;
    for (char c = Peek(); c != kEnd; c = Peek()) {
      const bool exponent = previous == 'e' || previous == 'E' || previous == 'p' || previous == 'P';
      const bool separator = c == '\'' && IsWord(PeekSecond());
      if (!IsWord(c) && c != '.' && !separator && !(exponent && (c == '+' || c == '-'))) break;
      tokens_.back().text.push_back(c);
      previous = c;
      Advance();
    }
  }

  void LexWord() {
    Emit(SourceToken::Kind::kIdentifier);
    std::string word;
    while (IsWord(Peek())) {
      word.push_back(Peek());
      Advance();
    }
    const bool raw_prefix = word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
    if (options_.raw_strings && raw_prefix && Peek() == '"' && LexRawString()) {
      tokens_.back().kind = SourceToken::Kind::kLiteral;
      return;
    }
    const bool directive = std::exchange(hash_before_, false);
    if (directive && (word == "include" || word == "include_next" || word == "import" || word == "embed")) {
      header_expected_ = Header::kHere;
    } else if (word == "__has_include" || word == "__has_include_next" || word == "__has_embed") {
      header_expected_ = Header::kAfterParenthesis;
    } else {
      header_expected_ = Header::kNo;
    }
    tokens_.back().text = std::move(word);
  }

  // False, and nothing read, if what follows is no raw string after all. Splices and trigraphs do not count inside.
  bool LexRawString() {
    size_t at = position_ + 1;
    std::string delimiter;
    for (; at < source_.size() && source_[at] != '('; ++at) {
      char c = source_[at];
      if (IsBlank(c) || c == '\n' || c == ')' || c == '\\' || c == '"') return false;
      delimiter.push_back(c);
      if (delimiter.size() > kRawDelimiterBytesMax) return false;
    }
    const std::string end = ")" + delimiter + "\"";
    size_t close = source_.find(end, at);
    size_t next = close == std::string_view::npos ? source_.size() : close + end.size();
    for (; position_ < next; ++position_) line_ += source_[position_] == '\n';
    Normalise();
    return true;
  }

  void LexPunctuation(char c) {
    const bool digraph = c == '%' && PeekSecond() == ':';
    Emit(SourceToken::Kind::kPunctuation);
    tokens_.back().text = digraph ? '#' : c;
    hash_before_ = tokens_.back().text == "#" && tokens_.back().starts_line;
    header_expected_ = header_expected_ == Header::kAfterParenthesis && c == '(' ? Header::kHere : Header::kNo;
    Advance();
    if (digraph) Advance();
  }

  void Emit(SourceToken::Kind kind) {
    tokens_.push_back({.kind = kind, .text = "", .line = line_, .starts_line = at_line_start_});
    at_line_start_ = false;
  }

  enum class Header { kNo, kAfterParenthesis, kHere };

  const std::string_view source_;
  const LexOptions options_;
  size_t position_ = 0;
  int line_ = 1;
  bool at_line_start_ = true;
  bool hash_before_ = false;  // the last token is the # of a directive
  Header header_expected_ = Header::kNo;
  std::vector<SourceToken> tokens_;
};

}  // namespace

std::vector<SourceToken> LexSource(std::string_view source, const LexOptions& options) {
  return Lexer(source, options).Run();
}

}  // namespace fsr
