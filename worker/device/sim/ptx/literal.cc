#include "worker/device/sim/ptx/literal.h"

#include <array>
#include <bit>
#include <charconv>
#include <string>

#include "common/status_macros.h"
#include "worker/device/sim/ptx/lexer.h"

namespace fsr::sim::ptx {
namespace {

constexpr int kExpressionDepthMax = 32;
constexpr uint32_t kFloatMantissaMask = 0x7fffff;
constexpr int kMantissaWidening = 52 - 23;

std::optional<uint64_t> ParseUnsigned(std::string_view digits, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return value;
}

// A conversion by the CPU would quiet a signalling NaN.
uint64_t WidenFloatBits(uint32_t bits) {
  const bool is_nan = (bits & 0x7f800000u) == 0x7f800000u && (bits & kFloatMantissaMask) != 0;
  if (!is_nan) return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(bits)));
  return (uint64_t{bits >> 31} << 63) | (uint64_t{0x7ff} << 52) |
         (uint64_t{bits & kFloatMantissaMask} << kMantissaWidening);
}

std::optional<Literal> ParseFloatBits(std::string_view digits, bool is_double) {
  if (digits.size() != (is_double ? 16u : 8u)) return std::nullopt;
  const std::optional<uint64_t> bits = ParseUnsigned(digits, 16);
  if (!bits) return std::nullopt;
  return Literal{is_double ? *bits : WidenFloatBits(static_cast<uint32_t>(*bits)), true};
}

std::optional<Literal> ParseInteger(std::string_view text) {
  if (text.back() == 'U' || text.back() == 'u') text.remove_suffix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char prefix = text[1];
    base = prefix == 'x' || prefix == 'X' ? 16 : prefix == 'b' || prefix == 'B' ? 2 : 8;
    text.remove_prefix(base == 8 ? 1 : 2);
  }
  const std::optional<uint64_t> value = ParseUnsigned(text, base);
  if (!value) return std::nullopt;
  return Literal{*value, false};
}

struct BinaryOperator {
  std::string_view text;  // one token a character
  int precedence;
};
// Longer ones before their prefixes.
constexpr std::array kBinaryOperators = {
    BinaryOperator{"<<", 5}, BinaryOperator{">>", 5}, BinaryOperator{"|", 1}, BinaryOperator{"^", 2},
    BinaryOperator{"&", 3},  BinaryOperator{"+", 6},  BinaryOperator{"-", 6}, BinaryOperator{"*", 7},
    BinaryOperator{"/", 7},  BinaryOperator{"%", 7},
};

const BinaryOperator* PeekOperator(const Cursor& cursor) {
  for (const BinaryOperator& candidate : kBinaryOperators) {
    bool matches = true;
    for (size_t i = 0; i < candidate.text.size(); ++i) {
      const Token& token = cursor.Peek(i);
      matches = matches && token.kind == Token::Kind::kPunctuation && token.text == candidate.text.substr(i, 1);
    }
    if (matches) return &candidate;
  }
  return nullptr;
}

// REQUIRES: for '/' and '%' that b is not 0.
uint64_t Apply(char operation, uint64_t a, uint64_t b) {
  const bool overflows = b == ~uint64_t{0} && a == uint64_t{1} << 63;  // INT64_MIN / -1
  switch (operation) {
    case '|':
      return a | b;
    case '^':
      return a ^ b;
    case '&':
      return a & b;
    case '<':
      return b < 64 ? a << b : 0;
    case '>':
      return static_cast<uint64_t>(static_cast<int64_t>(a) >> (b < 64 ? b : 63));
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return overflows ? a : static_cast<uint64_t>(static_cast<int64_t>(a) / static_cast<int64_t>(b));
    default:
      return overflows ? 0 : static_cast<uint64_t>(static_cast<int64_t>(a) % static_cast<int64_t>(b));
  }
}

absl::StatusOr<Literal> ParseExpression(Cursor& cursor, int precedence_min, int depth);

absl::StatusOr<Literal> ParseUnary(Cursor& cursor, int depth) {
  if (depth > kExpressionDepthMax) return cursor.Expected("a simpler constant expression");
  if (cursor.TakeIf("(")) {
    ASSIGN_OR_RETURN(const Literal inner, ParseExpression(cursor, 0, depth + 1));
    RETURN_IF_ERROR(cursor.Expect(")"));
    return inner;
  }
  for (const char sign : {'-', '+', '~', '!'}) {
    if (!cursor.TakeIf(std::string_view(&sign, 1))) continue;
    ASSIGN_OR_RETURN(Literal operand, ParseUnary(cursor, depth + 1));
    if (operand.is_float) {
      if (sign == '-') operand.bits ^= uint64_t{1} << 63;
      if (sign == '~' || sign == '!') return cursor.Expected("an integer constant before this");
    } else {
      operand.bits = sign == '-'   ? 0 - operand.bits
                     : sign == '~' ? ~operand.bits
                     : sign == '!' ? uint64_t{operand.bits == 0}
                                   : operand.bits;
    }
    return operand;
  }
  if (cursor.TakeIf("WARP_SZ")) return Literal{32, false};
  if (!cursor.IsKind(Token::Kind::kNumber)) return cursor.Expected("a constant");
  const std::optional<Literal> literal = ParseLiteral(cursor.Peek().text);
  if (!literal) return cursor.Expected("a number of at most 64 bits");
  cursor.Take();
  return *literal;
}

absl::StatusOr<Literal> ParseExpression(Cursor& cursor, int precedence_min, int depth) {
  ASSIGN_OR_RETURN(Literal left, ParseUnary(cursor, depth));
  while (const BinaryOperator* binary = PeekOperator(cursor)) {
    if (binary->precedence < precedence_min) break;
    for (size_t i = 0; i < binary->text.size(); ++i) cursor.Take();
    ASSIGN_OR_RETURN(const Literal right, ParseExpression(cursor, binary->precedence + 1, depth + 1));
    if (left.is_float || right.is_float) return cursor.Expected("integers on both sides of the operator before this");
    const char operation = binary->text.front();
    if ((operation == '/' || operation == '%') && right.bits == 0) return cursor.Expected("no division by zero");
    left.bits = Apply(operation, left.bits, right.bits);
  }
  return left;
}

}  // namespace

std::optional<Literal> ParseLiteral(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const char prefix = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
  if (prefix == 'f' || prefix == 'F') return ParseFloatBits(text.substr(2), false);
  if (prefix == 'd' || prefix == 'D') return ParseFloatBits(text.substr(2), true);
  const bool is_hexadecimal = prefix == 'x' || prefix == 'X';
  if (!is_hexadecimal && text.find_first_of(".eE") != std::string_view::npos) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return Literal{std::bit_cast<uint64_t>(value), true};
  }
  return ParseInteger(text);
}

uint32_t NarrowToFloatBits(uint64_t double_bits) {
  const double value = std::bit_cast<double>(double_bits);
  if (value == value) return std::bit_cast<uint32_t>(static_cast<float>(value));
  const auto mantissa = static_cast<uint32_t>(double_bits >> kMantissaWidening) & kFloatMantissaMask;
  const uint32_t sign = static_cast<uint32_t>(double_bits >> 63) << 31;
  return sign | 0x7f800000u | (mantissa != 0 ? mantissa : 0x400000u);
}

absl::StatusOr<Literal> ParseConstant(Cursor& cursor) { return ParseExpression(cursor, 0, 0); }

absl::StatusOr<Literal> ParseConstantTerm(Cursor& cursor) { return ParseExpression(cursor, 7, 0); }

}  // namespace fsr::sim::ptx
