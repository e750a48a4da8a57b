// The lexical shape of CUDA C++: where its comments, literals and words are. Knows no grammar.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fsr {

struct SourceToken {
  enum class Kind { kWord, kNumber, kLiteral, kPunctuation, kLineComment, kBlockComment, kSpace, kNewline };
  Kind kind = Kind::kSpace;
  std::string_view text;       // within the source; a literal has its prefix and quotes, punctuation is one character
  size_t offset = 0;           // of `text` in the source
  int line = 1;                // where it starts, from 1
  bool first_on_line = false;  // only white space and comments stand before it
};

// Splits a source into tokens that together are the source. Accepts every byte string: what is unterminated ends with
// its line, or with the source. The source must outlive the scanner and its tokens.
class SourceScanner {
 public:
  explicit SourceScanner(std::string_view source) : source_(source) {}
  // False at the end.
  bool Next(SourceToken* token);

 private:
  std::string_view Rest() const { return source_.substr(position_); }

  const std::string_view source_;
  size_t position_ = 0;
  int line_ = 1;
  bool line_is_blank_ = true;
};

// A `// fsr:` line.
struct Directive {
  std::string_view text;  // what follows "fsr:", without the spaces around it
  std::string_view comment;
  size_t offset = 0;  // of `comment` in the source
  int line = 1;
};

// All `// fsr:` lines in order. INVALID_ARGUMENT names the line of one that is not alone on its line, is continued by a
// backslash or is misspelt, and of a NUL byte, which would hide the rest of the source from the compiler.
absl::StatusOr<std::vector<Directive>> FindDirectives(std::string_view source);

// Whether a line comment is a `// fsr:` line.
bool IsDirective(std::string_view line_comment);

// The words that can follow "fsr:".
inline constexpr std::string_view kDirectiveNames[] = {"tune", "scratch", "fill", "launch", "tensor_map", "option"};

}  // namespace fsr
