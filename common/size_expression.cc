#include "common/size_expression.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "common/near_miss.h"
#include "common/quote.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace fsr {

struct SizeExpression::Node {
  enum class Kind { kLiteral, kName, kAdd, kSubtract, kMultiply, kDivide, kRemainder, kMin, kMax, kCeilDiv };
  Kind kind = Kind::kLiteral;
  int64_t value = 0;      // kLiteral
  std::string name = {};  // kName
  std::shared_ptr<const Node> left = {}, right = {};
  size_t column = 1;  // where it stands in the text, from 1
};

namespace {

using Node = SizeExpression::Node;
using NodePtr = std::shared_ptr<const Node>;
using Kind = Node::Kind;

constexpr std::pair<std::string_view, Kind> kFunctions[] = {
    {"ceil_div", Kind::kCeilDiv}, {"max", Kind::kMax}, {"min", Kind::kMin}};

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool StartsName(char c) { return c == '_' || absl::ascii_isalpha(static_cast<unsigned char>(c)); }
bool ContinuesName(char c) { return StartsName(c) || IsDigit(c); }

// Recursive descent:
//   sum = product { (+|-) product }    product = operand { (*|/|%) operand }
//   operand = literal | name | function ( sum , sum ) | ( sum )
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<NodePtr> Whole() {
    ASSIGN_OR_RETURN(NodePtr root, Sum());
    if (Peek() != '\0') return Unexpected("an operator or the end");
    return root;
  }

 private:
  absl::StatusOr<NodePtr> Sum() {
    ASSIGN_OR_RETURN(NodePtr left, Product());
    for (char next = Peek(); next == '+' || next == '-'; next = Peek()) {
      const size_t column = ++position_;
      ASSIGN_OR_RETURN(NodePtr right, Product());
      left = Binary(next == '+' ? Kind::kAdd : Kind::kSubtract, std::move(left), std::move(right), column);
    }
    return left;
  }

  absl::StatusOr<NodePtr> Product() {
    ASSIGN_OR_RETURN(NodePtr left, Operand());
    for (char next = Peek(); next == '*' || next == '/' || next == '%'; next = Peek()) {
      const size_t column = ++position_;
      ASSIGN_OR_RETURN(NodePtr right, Operand());
      const Kind kind = next == '*' ? Kind::kMultiply : next == '/' ? Kind::kDivide : Kind::kRemainder;
      left = Binary(kind, std::move(left), std::move(right), column);
    }
    return left;
  }

  absl::StatusOr<NodePtr> Operand() {
    const char next = Peek();
    if (IsDigit(next)) return Literal();
    if (StartsName(next)) return NameOrCall();
    if (next != '(') return Unexpected("a number, a name or '('");
    ++position_;
    RETURN_IF_ERROR(Deeper());
    ASSIGN_OR_RETURN(NodePtr inner, Sum());
    if (Peek() != ')') return Unexpected("')' or an operator");
    ++position_;
    --depth_;
    return inner;
  }

  absl::StatusOr<NodePtr> Literal() {
    Node node{.column = position_ + 1};
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), node.value);
    if (error != std::errc()) return ErrorAt(position_, "the number does not fit in 64 bits");
    position_ += static_cast<size_t>(end - begin);
    if (position_ < text_.size() && ContinuesName(text_[position_])) return Unexpected("a plain decimal number");
    return std::make_shared<const Node>(std::move(node));
  }

  absl::StatusOr<NodePtr> NameOrCall() {
    const size_t start = position_;
    while (position_ < text_.size() && ContinuesName(text_[position_])) ++position_;
    const std::string_view name = text_.substr(start, position_ - start);
    if (Peek() != '(') {
      return std::make_shared<const Node>(Node{.kind = Kind::kName, .name = std::string(name), .column = start + 1});
    }
    ASSIGN_OR_RETURN(const Kind function, FunctionNamed(name, start));
    ++position_;
    RETURN_IF_ERROR(Deeper());
    ASSIGN_OR_RETURN(NodePtr left, Sum());
    if (Peek() != ',') return Unexpected(fmt::format("',' ({} takes two arguments)", name));
    ++position_;
    ASSIGN_OR_RETURN(NodePtr right, Sum());
    if (Peek() != ')') return Unexpected(fmt::format("')' ({} takes two arguments)", name));
    ++position_;
    --depth_;
    return Binary(function, std::move(left), std::move(right), start + 1);
  }

  absl::StatusOr<Kind> FunctionNamed(std::string_view name, size_t start) const {
    std::vector<std::string> known;
    for (const auto& [function, kind] : kFunctions) {
      if (function == name) return kind;
      known.emplace_back(function);
    }
    return ErrorAt(start, fmt::format("there is no function {}, only {}{}", name, fmt::join(known, ", "),
                                      DidYouMean(name, known)));
  }

  static NodePtr Binary(Kind kind, NodePtr left, NodePtr right, size_t column) {
    return std::make_shared<const Node>(
        Node{.kind = kind, .left = std::move(left), .right = std::move(right), .column = column});
  }

  absl::Status Deeper() {
    if (++depth_ <= kSizeExpressionDepthMax) return absl::OkStatus();
    return ErrorAt(position_ - 1, fmt::format("more than {} nested parentheses", kSizeExpressionDepthMax));
  }

  // The next character that is no white space, or NUL at the end.
  char Peek() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  absl::Status Unexpected(std::string_view expected) const {
    if (position_ >= text_.size()) return ErrorAt(position_, fmt::format("expected {}, but it ends", expected));
    return ErrorAt(position_, fmt::format("expected {}, got {}", expected, Quoted(text_.substr(position_, 1))));
  }

  absl::Status ErrorAt(size_t position, std::string_view problem) const {
    return absl::InvalidArgumentError(fmt::format("{}, column {}: {}", Quoted(text_), position + 1, problem));
  }

  const std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
};

bool DivisionOverflows(int64_t a, int64_t b) { return a == std::numeric_limits<int64_t>::min() && b == -1; }

// nullopt: the result does not fit. REQUIRES: b != 0 for the divisions.
std::optional<int64_t> Apply(Kind kind, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (kind) {
    case Kind::kAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Kind::kSubtract:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Kind::kMultiply:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Kind::kDivide:
      return DivisionOverflows(a, b) ? std::nullopt : std::optional(a / b);
    case Kind::kRemainder:
      return DivisionOverflows(a, b) ? 0 : a % b;
    case Kind::kCeilDiv:
      if (DivisionOverflows(a, b)) return std::nullopt;
      return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
    case Kind::kMin:
      return std::min(a, b);
    case Kind::kMax:
      return std::max(a, b);
    case Kind::kLiteral:
    case Kind::kName:
      break;
  }
  return std::nullopt;
}

absl::StatusOr<int64_t> EvaluateName(const Node& node, const SizeBindings& bindings) {
  if (const auto found = bindings.find(node.name); found != bindings.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, value] : bindings) known.push_back(name);
  return absl::InvalidArgumentError(
      fmt::format("column {}: {} is not known here; known are: {}{}", node.column, node.name,
                  known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")), DidYouMean(node.name, known)));
}

absl::StatusOr<int64_t> EvaluateNode(const Node& node, const SizeBindings& bindings) {
  if (node.kind == Kind::kLiteral) return node.value;
  if (node.kind == Kind::kName) return EvaluateName(node, bindings);
  ASSIGN_OR_RETURN(const int64_t left, EvaluateNode(*node.left, bindings));
  ASSIGN_OR_RETURN(const int64_t right, EvaluateNode(*node.right, bindings));
  const bool divides = node.kind == Kind::kDivide || node.kind == Kind::kRemainder || node.kind == Kind::kCeilDiv;
  if (divides && right == 0) {
    return absl::InvalidArgumentError(fmt::format("column {}: division of {} by zero", node.column, left));
  }
  if (const std::optional<int64_t> result = Apply(node.kind, left, right)) return *result;
  return absl::InvalidArgumentError(
      fmt::format("column {}: the result for {} and {} does not fit in 64 bits", node.column, left, right));
}

void CollectNames(const Node& node, std::set<std::string>* names) {
  if (node.kind == Kind::kName) names->insert(node.name);
  if (node.left) CollectNames(*node.left, names);
  if (node.right) CollectNames(*node.right, names);
}

}  // namespace

SizeExpression::SizeExpression(std::string text, std::shared_ptr<const Node> root)
    : text_(std::move(text)), root_(std::move(root)) {}

absl::StatusOr<SizeExpression> SizeExpression::Parse(std::string_view text) {
  if (text.size() > kSizeExpressionLengthMax) {
    return absl::InvalidArgumentError(fmt::format("an expression of {} characters is longer than the {} allowed",
                                                  text.size(), kSizeExpressionLengthMax));
  }
  ASSIGN_OR_RETURN(NodePtr root, Parser(text).Whole());
  return SizeExpression(std::string(text), std::move(root));
}

SizeExpression SizeExpression::Constant(int64_t value) {
  return SizeExpression(std::to_string(value), std::make_shared<const Node>(Node{.value = value}));
}

absl::StatusOr<int64_t> SizeExpression::Evaluate(const SizeBindings& bindings) const {
  absl::StatusOr<int64_t> value = EvaluateNode(*root_, bindings);
  if (value.ok()) return value;
  return absl::Status(value.status().code(), fmt::format("{}, {}", Quoted(text_), MessageOf(value.status())));
}

std::set<std::string> SizeExpression::Names() const {
  std::set<std::string> names;
  CollectNames(*root_, &names);
  return names;
}

}  // namespace fsr
