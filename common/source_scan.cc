#include "common/source_scan.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "fmt/format.h"

namespace fsr {
namespace {

using Kind = SourceToken::Kind;

constexpr size_t kRawDelimiterLengthMax = 16;  // by the C++ standard

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
// Bytes of UTF-8 identifiers count as letters.
bool IsWord(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return absl::ascii_isalnum(byte) || c == '_' || c == '$' || byte >= 0x80;
}
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

// The length of a backslash and the line end after it, or 0.
size_t SpliceLength(std::string_view text) {
  if (text.substr(0, 2) == "\\\n") return 2;
  if (text.substr(0, 3) == "\\\r\n") return 3;
  return 0;
}

size_t SpaceLength(std::string_view text) {
  size_t length = 0;
  while (length < text.size()) {
    if (const size_t splice = SpliceLength(text.substr(length))) {
      length += splice;
    } else if (IsSpace(text[length])) {
      ++length;
    } else {
      break;
    }
  }
  return length;
}

// A backslash at the end of a line continues a line comment, as it does for the compiler.
size_t LineCommentLength(std::string_view text) {
  size_t length = 0;
  while (length < text.size() && text[length] != '\n') {
    const size_t splice = SpliceLength(text.substr(length));
    length += splice != 0 ? splice : 1;
  }
  return length;
}

size_t BlockCommentLength(std::string_view text) {
  const size_t end = text.find("*/", 2);
  return end == std::string_view::npos ? text.size() : end + 2;
}

size_t QuotedLength(std::string_view text) {
  size_t length = 1;
  while (length < text.size() && text[length] != '\n') {
    if (text[length] == text[0]) return length + 1;
    const size_t splice = SpliceLength(text.substr(length));
    length += splice != 0 ? splice : text[length] == '\\' ? 2 : 1;
  }
  return std::min(length, text.size());
}

// `text` starts with the quote of a raw string: "delimiter( … )delimiter". 0 if it is none.
size_t RawStringLength(std::string_view text) {
  const size_t open = text.substr(0, kRawDelimiterLengthMax + 2).find('(');
  if (open == std::string_view::npos) return 0;
  const std::string_view delimiter = text.substr(1, open - 1);
  if (delimiter.find_first_of(" )\\\t\v\f\n\"") != std::string_view::npos) return 0;
  const std::string closing = fmt::format("){}\"", delimiter);
  const size_t end = text.find(closing, open + 1);
  return end == std::string_view::npos ? text.size() : end + closing.size();
}

size_t NumberLength(std::string_view text) {
  size_t length = 1;
  while (length < text.size()) {
    const char c = text[length];
    const char before = absl::ascii_toupper(static_cast<unsigned char>(text[length - 1]));
    const bool exponent_sign = (c == '+' || c == '-') && (before == 'E' || before == 'P');
    const bool separator = c == '\'' && length + 1 < text.size() && IsWord(text[length + 1]);
    if (!IsWord(c) && c != '.' && !exponent_sign && !separator) break;
    ++length;
  }
  return length;
}

// A word, or a literal that has the word as its prefix.
size_t WordLength(std::string_view text, Kind* kind) {
  size_t length = 0;
  while (length < text.size() && IsWord(text[length])) ++length;
  const std::string_view word = text.substr(0, length), rest = text.substr(length);
  if (rest.empty() || (rest[0] != '"' && rest[0] != '\'')) return length;
  const bool raw = rest[0] == '"' && word.back() == 'R';
  const std::string_view encoding = raw ? word.substr(0, word.size() - 1) : word;
  if (encoding != "" && encoding != "L" && encoding != "u" && encoding != "U" && encoding != "u8") return length;
  const size_t raw_length = raw ? RawStringLength(rest) : 0;
  if (raw && raw_length == 0) return length;
  *kind = Kind::kLiteral;
  return length + (raw ? raw_length : QuotedLength(rest));
}

size_t TokenLength(std::string_view text, Kind* kind) {
  const char first = text[0], second = text.size() > 1 ? text[1] : '\0';
  if (first == '\n') return *kind = Kind::kNewline, 1;
  if (const size_t length = SpaceLength(text)) return *kind = Kind::kSpace, length;
  if (first == '/' && second == '/') return *kind = Kind::kLineComment, LineCommentLength(text);
  if (first == '/' && second == '*') return *kind = Kind::kBlockComment, BlockCommentLength(text);
  if (first == '"' || first == '\'') return *kind = Kind::kLiteral, QuotedLength(text);
  if (IsDigit(first) || (first == '.' && IsDigit(second))) return *kind = Kind::kNumber, NumberLength(text);
  if (IsWord(first)) return *kind = Kind::kWord, WordLength(text, kind);
  return *kind = Kind::kPunctuation, 1;
}

std::string_view CommentBody(std::string_view line_comment) {
  line_comment.remove_prefix(2);
  while (!line_comment.empty() && IsSpace(line_comment.front())) line_comment.remove_prefix(1);
  while (!line_comment.empty() && IsSpace(line_comment.back())) line_comment.remove_suffix(1);
  return line_comment;
}

// "// fsr launch …", "// FSR: tune …", "/* fsr: fill … */": ignored, such a line would only show as a missing launch.
bool IsMisspeltDirective(std::string_view comment) {
  std::string_view body = comment.substr(std::min(comment.find_first_not_of("/*! \t"), comment.size()));
  if (body.size() < 4 || absl::AsciiStrToLower(std::string(body.substr(0, 3))) != "fsr") return false;
  body.remove_prefix(3);
  const size_t start = body.find_first_not_of(" \t:");
  if (start == 0 || start == std::string_view::npos) return false;
  const std::string_view word = body.substr(start, body.find_first_of(" \t=(", start) - start);
  return std::find(std::begin(kDirectiveNames), std::end(kDirectiveNames), word) != std::end(kDirectiveNames);
}

}  // namespace

bool SourceScanner::Next(SourceToken* token) {
  if (position_ >= source_.size()) return false;
  token->offset = position_;
  token->line = line_;
  const size_t length = TokenLength(Rest(), &token->kind);
  token->text = Rest().substr(0, length);
  token->first_on_line = line_is_blank_;
  position_ += length;
  line_ += static_cast<int>(std::count(token->text.begin(), token->text.end(), '\n'));
  switch (token->kind) {
    case Kind::kNewline:
      line_is_blank_ = true;
      break;
    case Kind::kSpace:
    case Kind::kLineComment:
    case Kind::kBlockComment:
      break;
    default:
      line_is_blank_ = false;
  }
  return true;
}

bool IsDirective(std::string_view line_comment) { return CommentBody(line_comment).substr(0, 4) == "fsr:"; }

absl::StatusOr<std::vector<Directive>> FindDirectives(std::string_view source) {
  if (const size_t nul = source.find('\0'); nul != std::string_view::npos) {
    const auto line = std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(nul), '\n') + 1;
    return absl::InvalidArgumentError(fmt::format("line {}: the source contains a NUL byte; remove it", line));
  }
  std::vector<Directive> directives;
  SourceScanner scanner(source);
  for (SourceToken token; scanner.Next(&token);) {
    if (token.kind != Kind::kLineComment && token.kind != Kind::kBlockComment) continue;
    if (token.kind == Kind::kBlockComment || !IsDirective(token.text)) {
      if (!IsMisspeltDirective(token.text)) continue;
      return absl::InvalidArgumentError(fmt::format(
          "line {}: a launch plan line starts with \"// fsr:\", in lower case and with a colon", token.line));
    }
    if (!token.first_on_line) {
      return absl::InvalidArgumentError(
          fmt::format("line {}: a \"// fsr:\" line must stand on a line of its own, not behind code", token.line));
    }
    if (token.text.find('\n') != std::string_view::npos || token.text.back() == '\\') {
      return absl::InvalidArgumentError(fmt::format(
          "line {}: a \"// fsr:\" line cannot be continued with a backslash; write it on one line", token.line));
    }
    std::string_view text = CommentBody(token.text).substr(4);
    while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
    directives.push_back({.text = text, .comment = token.text, .offset = token.offset, .line = token.line});
  }
  return directives;
}

}  // namespace fsr
