// Numbers and constant expressions of PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace fsr::sim::ptx {

class Cursor;

struct Literal {
  uint64_t bits = 0;      // an integer's value in two's complement, or the bits of a double
  bool is_float = false;  // 0f… and 0d… and decimal ones with a point or exponent
};

// "42", "0x1fU", "0b101", "017", "1.5", "0f3F800000", "0d3FF0000000000000". nullopt if it is none of these or does not
// fit 64 bits.
std::optional<Literal> ParseLiteral(std::string_view text);

// The bits of a float literal as a float: undoes the widening of 0f… exactly, NaN payloads too.
uint32_t NarrowToFloatBits(uint64_t double_bits);

// An integer expression ("-1", "4*(8+1)", "~0"), or a float literal with an optional sign. Wraps at 64 bits.
absl::StatusOr<Literal> ParseConstant(Cursor& cursor);
// The next operand only, up to a binary operator: what follows the '+' of an address.
absl::StatusOr<Literal> ParseConstantTerm(Cursor& cursor);

}  // namespace fsr::sim::ptx
