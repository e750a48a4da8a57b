// C++ source as preprocessing tokens, for scans that must not be misled by comments, literals or line splices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fsr {

// How to read what compilers read differently.
struct LexOptions {
  bool trigraphs = false;         // ??= is # and ??/ is a backslash
  bool blanks_in_splice = false;  // a backslash, blanks and a newline join two lines
  bool raw_strings = true;        // R"( )" has its own rules
};

struct SourceToken {
  enum class Kind {
    kIdentifier,
    kNumber,
    kLiteral,      // a string or character; `text` is empty
    kHeaderName,   // <…> or "…" where a directive or __has_include takes one; `text` has no quotes
    kPunctuation,  // one character; # for %: too
  };
  Kind kind = Kind::kPunctuation;
  std::string text;
  int line = 0;              // from 1
  bool starts_line = false;  // nothing but blanks and comments before it on its (spliced) line
};

std::vector<SourceToken> LexSource(std::string_view source, const LexOptions& options);

}  // namespace fsr
