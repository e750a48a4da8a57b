// Reads the text of one `// fsr:` line from left to right. Its errors name the line and the directive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/size_expression.h"

namespace fsr {

// White space between the parts is skipped. The text must outlive the cursor and the views it returns.
class DirectiveCursor {
 public:
  // `directive` stands in the messages, such as "launch"; it may be set later.
  DirectiveCursor(std::string_view text, int line) : text_(text), line_(line) {}
  void set_directive(std::string_view directive) { directive_ = directive; }

  bool AtEnd();
  bool NextIs(char c);
  // Consumes `c` if it is next.
  bool Take(char c);

  // Each names `what` was expected, such as "a buffer's name", when something else stands there.
  absl::Status Expect(char c, std::string_view what);
  absl::StatusOr<std::string> Identifier(std::string_view what);
  absl::StatusOr<int64_t> Integer(std::string_view what);
  absl::Status ExpectEnd();

  // The parts between commas of "(…)", at most `count_max`, perhaps none; nested parentheses stay together.
  absl::StatusOr<std::vector<std::string_view>> List(std::string_view what, size_t count_max);
  // The same as expressions, at least one.
  absl::StatusOr<std::vector<SizeExpression>> Expressions(std::string_view what, size_t count_max);
  // Everything up to the first of `stops` outside parentheses, or to the end; the stop is not consumed.
  std::string_view Until(std::string_view stops);
  // The next `count` characters, consumed.
  std::string_view Characters(size_t count);
  std::string_view Rest();

  absl::StatusOr<SizeExpression> ParseExpression(std::string_view what, std::string_view text) const;
  // "line 3: launch: `problem`"
  absl::Status Error(std::string_view problem) const;
  int line() const { return line_; }

 private:
  void SkipSpace();
  absl::Status Expected(std::string_view what);

  const std::string_view text_;
  const int line_;
  std::string_view directive_;
  size_t position_ = 0;
};

bool IsIdentifier(std::string_view text);

}  // namespace fsr
