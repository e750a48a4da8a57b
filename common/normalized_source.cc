#include <string>
#include <string_view>

#include "common/source_scan.h"
#include "common/task_loader.h"

namespace fsr {
namespace {

using Kind = SourceToken::Kind;

// Two-character operators and comment marks: their halves must not come together where white space held them apart.
bool JoinsIntoOperator(char left, char right) {
  static constexpr std::string_view kPairs[] = {"++", "--", "->", "<<", ">>", "&&", "||", "::", "..", "==", "+=",
                                                "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<=", ">=", "!=", "//",
                                                "/*", "##", "<:", "<%", "%>", ":>", "%:", ".*", "*/"};
  for (std::string_view pair : kPairs) {
    if (pair[0] == left && pair[1] == right) return true;
  }
  return false;
}

// Whether `left` and `right` would be read otherwise without the white space between them.
bool NeedSpace(const SourceToken& left, const SourceToken& right) {
  const bool left_is_text = left.kind != Kind::kPunctuation, right_is_text = right.kind != Kind::kPunctuation;
  if (left_is_text && right_is_text) return true;
  const char last = left.text.back(), first = right.text.front();
  if (left.kind == Kind::kNumber) {
    // "1 .x" is two tokens, "1.x" one; and "0xe +1" is a sum, "0xe+1" a malformed number.
    const bool may_have_exponent = std::string_view("eEpP").find(last) != std::string_view::npos;
    return first == '.' || (may_have_exponent && (first == '+' || first == '-'));
  }
  if (right.kind == Kind::kNumber) return last == '.';
  return !left_is_text && !right_is_text && JoinsIntoOperator(last, first);
}

// "//  fsr:  tune  A =  1" as "// fsr: tune A = 1".
std::string DirectiveLine(std::string_view comment) {
  std::string line = "//";
  bool space = true;
  for (char c : comment.substr(2)) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\\') {
      space = true;
      continue;
    }
    if (space) line.push_back(' ');
    space = false;
    line.push_back(c);
  }
  return line;
}

// Writes tokens with the least white space that keeps their meaning. Preprocessor lines keep one space wherever there
// was white space, since "#define F (x)" is not "#define F(x)".
class Normalizer {
 public:
  void Add(const SourceToken& token) {
    switch (token.kind) {
      case Kind::kLineComment:
        if (!IsDirective(token.text)) break;
        StartLine();
        text_ += DirectiveLine(token.text);
        EndLine();
        return;
      case Kind::kNewline:
        if (in_preprocessor_line_) EndLine();
        break;
      case Kind::kSpace:
      case Kind::kBlockComment:
        break;
      default:
        return AddText(token);
    }
    space_ = true;
  }

  std::string Finish() && {
    EndLine();
    return std::move(text_);
  }

 private:
  void AddText(const SourceToken& token) {
    if (token.first_on_line && token.text == "#") {
      StartLine();
      in_preprocessor_line_ = true;
    } else if (!at_line_start_ && space_ && (in_preprocessor_line_ || NeedSpace(previous_, token))) {
      text_.push_back(' ');
    }
    text_ += token.text;
    previous_ = token;
    at_line_start_ = space_ = false;
  }

  void StartLine() {
    if (!at_line_start_) EndLine();
  }

  void EndLine() {
    if (!text_.empty() && text_.back() != '\n') text_.push_back('\n');
    at_line_start_ = true;
    in_preprocessor_line_ = space_ = false;
  }

  std::string text_;
  SourceToken previous_;
  bool at_line_start_ = true;
  bool space_ = false;
  bool in_preprocessor_line_ = false;
};

}  // namespace

std::string NormalizedSource(std::string_view source) {
  Normalizer normalizer;
  SourceScanner scanner(source);
  for (SourceToken token; scanner.Next(&token);) normalizer.Add(token);
  return std::move(normalizer).Finish();
}

}  // namespace fsr
