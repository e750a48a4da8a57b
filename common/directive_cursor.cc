#include "common/directive_cursor.h"

#include <charconv>

#include "absl/strings/ascii.h"
#include "common/quote.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"

namespace fsr {
namespace {

constexpr size_t kIdentifierLengthMax = 128;

bool StartsIdentifier(char c) { return c == '_' || absl::ascii_isalpha(static_cast<unsigned char>(c)); }
bool ContinuesIdentifier(char c) { return StartsIdentifier(c) || absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsBlank(char c) { return c == ' ' || c == '\t'; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

bool IsIdentifier(std::string_view text) {
  if (text.empty() || text.size() > kIdentifierLengthMax || !StartsIdentifier(text[0])) return false;
  for (char c : text) {
    if (!ContinuesIdentifier(c)) return false;
  }
  return true;
}

void DirectiveCursor::SkipSpace() {
  while (position_ < text_.size() && IsBlank(text_[position_])) ++position_;
}

bool DirectiveCursor::AtEnd() {
  SkipSpace();
  return position_ >= text_.size();
}

bool DirectiveCursor::NextIs(char c) { return !AtEnd() && text_[position_] == c; }

bool DirectiveCursor::Take(char c) {
  if (!NextIs(c)) return false;
  ++position_;
  return true;
}

absl::Status DirectiveCursor::Expect(char c, std::string_view what) {
  return Take(c) ? absl::OkStatus() : Expected(what);
}

absl::StatusOr<std::string> DirectiveCursor::Identifier(std::string_view what) {
  if (AtEnd() || !StartsIdentifier(text_[position_])) return Expected(what);
  const size_t start = position_;
  while (position_ < text_.size() && ContinuesIdentifier(text_[position_])) ++position_;
  if (position_ - start > kIdentifierLengthMax) {
    return Error(
        fmt::format("a name of {} characters is longer than the {} allowed", position_ - start, kIdentifierLengthMax));
  }
  return std::string(text_.substr(start, position_ - start));
}

absl::StatusOr<int64_t> DirectiveCursor::Integer(std::string_view what) {
  SkipSpace();
  int64_t value = 0;
  const char* begin = text_.data() + position_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) return Error(fmt::format("{} does not fit in 64 bits", what));
  if (error != std::errc()) return Expected(what);
  const size_t after = position_ + static_cast<size_t>(end - begin);
  if (after < text_.size() && (ContinuesIdentifier(text_[after]) || text_[after] == '.')) return Expected(what);
  position_ = after;
  return value;
}

absl::Status DirectiveCursor::ExpectEnd() {
  return AtEnd() ? absl::OkStatus() : Error(fmt::format("unexpected text at the end: {}", Quoted(Rest())));
}

std::string_view DirectiveCursor::Until(std::string_view stops) {
  SkipSpace();
  const size_t start = position_;
  int depth = 0;
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (depth == 0 && stops.find(c) != std::string_view::npos) break;
    if (c == '(') ++depth;
    if (c == ')') --depth;
  }
  return Trimmed(text_.substr(start, position_ - start));
}

std::string_view DirectiveCursor::Characters(size_t count) {
  const std::string_view characters = text_.substr(position_, count);
  position_ += characters.size();
  return characters;
}

std::string_view DirectiveCursor::Rest() {
  SkipSpace();
  return text_.substr(position_);
}

absl::StatusOr<std::vector<std::string_view>> DirectiveCursor::List(std::string_view what, size_t count_max) {
  if (!Take('(')) return Error(fmt::format("{0} needs parentheses, as in {0}=(...)", what));
  std::vector<std::string_view> parts;
  if (Take(')')) return parts;
  do {
    const std::string_view part = Until(",)");
    if (AtEnd()) return Error(fmt::format("{}: the closing parenthesis is missing", what));
    if (part.empty()) return Error(fmt::format("{}: nothing stands before \"{}\"", what, text_[position_]));
    if (parts.size() == count_max) return Error(fmt::format("{} has more than {} entries", what, count_max));
    parts.push_back(part);
  } while (Take(','));
  RETURN_IF_ERROR(Expect(')', "\")\""));
  return parts;
}

absl::StatusOr<std::vector<SizeExpression>> DirectiveCursor::Expressions(std::string_view what, size_t count_max) {
  ASSIGN_OR_RETURN(const std::vector<std::string_view> parts, List(what, count_max));
  if (parts.empty()) return Error(fmt::format("{} is empty; it takes 1 to {} expressions", what, count_max));
  std::vector<SizeExpression> expressions;
  for (std::string_view part : parts) {
    ASSIGN_OR_RETURN(SizeExpression expression, ParseExpression(what, part));
    expressions.push_back(std::move(expression));
  }
  return expressions;
}

absl::StatusOr<SizeExpression> DirectiveCursor::ParseExpression(std::string_view what, std::string_view text) const {
  absl::StatusOr<SizeExpression> expression = SizeExpression::Parse(text);
  if (expression.ok()) return expression;
  return Error(fmt::format("{}: {}", what, MessageOf(expression.status())));
}

absl::Status DirectiveCursor::Expected(std::string_view what) {
  if (AtEnd()) return Error(fmt::format("expected {}, but the line ends", what));
  return Error(fmt::format("expected {}, got {}", what, Quoted(Rest())));
}

absl::Status DirectiveCursor::Error(std::string_view problem) const {
  const std::string where = directive_.empty() ? "" : fmt::format("{}: ", directive_);
  return absl::InvalidArgumentError(fmt::format("line {}: {}{}", line_, where, problem));
}

}  // namespace fsr
