// Integer expressions over named sizes, for shapes and launch dimensions:
//   + - * / % ( )   min(a, b)  max(a, b)  ceil_div(a, b)   decimal literals   names
// All arithmetic is in signed 64 bits; an overflow or a division by zero is an error, never a wrapped value.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fsr {

using SizeBindings = std::map<std::string, int64_t, std::less<>>;

inline constexpr int kSizeExpressionLengthMax = 1024;  // characters
inline constexpr int kSizeExpressionDepthMax = 64;     // nested parentheses and calls

// A parsed expression. Immutable, cheap to copy, safe for concurrent use.
class SizeExpression {
 public:
  // INVALID_ARGUMENT names the column and what was expected there.
  static absl::StatusOr<SizeExpression> Parse(std::string_view text);
  static SizeExpression Constant(int64_t value);

  // INVALID_ARGUMENT for an unknown name (the message lists the known ones), an overflow, a division by zero.
  absl::StatusOr<int64_t> Evaluate(const SizeBindings& bindings) const;

  std::set<std::string> Names() const;
  const std::string& text() const { return text_; }

  struct Node;

 private:
  SizeExpression(std::string text, std::shared_ptr<const Node> root);
  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace fsr
