#include "worker/device/sim/ptx/declaration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "common/status_macros.h"
#include "worker/device/sim/ptx/initializer.h"
#include "worker/device/sim/ptx/literal.h"

namespace fsr::sim::ptx {
namespace {

constexpr uint64_t kAlignmentMax = 1024;

// Directives between the state space and the name that take a value or mean nothing here.
absl::StatusOr<bool> TakeAttribute(Cursor& cursor, Variable& head) {
  if (cursor.TakeIf(".align")) {
    ASSIGN_OR_RETURN(const uint64_t alignment, cursor.ExpectInteger("an alignment"));
    if (!std::has_single_bit(alignment) || alignment > kAlignmentMax) {
      return ErrorAt(cursor.Peek().line,
                     fmt::format("an alignment is a power of two of at most {}, not {}", kAlignmentMax, alignment));
    }
    head.alignment = static_cast<uint32_t>(alignment);
    return true;
  }
  if (cursor.TakeIf(".attribute")) {
    RETURN_IF_ERROR(cursor.SkipPast(")"));
    return true;
  }
  if (cursor.TakeIf(".ptr")) {
    // The pointee's space and alignment say nothing about the parameter itself.
    if (StateSpaceOf(cursor.Peek().text)) cursor.Take();
    if (cursor.TakeIf(".align")) RETURN_IF_ERROR(cursor.ExpectInteger("an alignment").status());
    return true;
  }
  for (const auto& [text, width] : {std::pair{".v2", 2u}, std::pair{".v4", 4u}, std::pair{".v8", 8u}}) {
    if (!cursor.TakeIf(text)) continue;
    head.vector_width = width;
    return true;
  }
  return false;
}

absl::Status ParseDimensions(Cursor& cursor, Variable& variable, std::vector<uint64_t>& dimensions) {
  // An open first dimension has no size yet, the product of the others must fit all the same.
  uint64_t bytes = uint64_t{variable.element_bytes} * variable.vector_width;
  while (cursor.TakeIf("[")) {
    uint64_t size = 0;
    if (!cursor.Is("]")) {
      ASSIGN_OR_RETURN(const Literal literal, ParseConstant(cursor));
      if (literal.is_float) return cursor.Expected("an integer array size before this");
      size = literal.bits;
    } else if (!dimensions.empty()) {
      return cursor.Expected("an array size");
    }
    if (size > kVariableBytesMax / bytes) {
      return ErrorAt(cursor.Peek().line, fmt::format("'{}' is larger than {} bytes", variable.name, kVariableBytesMax));
    }
    bytes *= std::max<uint64_t>(size, 1);
    variable.element_count *= size;
    dimensions.push_back(size);
    RETURN_IF_ERROR(cursor.Expect("]"));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<StateSpace> StateSpaceOf(std::string_view directive) {
  constexpr std::array kSpaces = {
      std::pair{".global", StateSpace::kGlobal}, std::pair{".shared", StateSpace::kShared},
      std::pair{".local", StateSpace::kLocal},   std::pair{".const", StateSpace::kConst},
      std::pair{".param", StateSpace::kParam},   std::pair{".reg", StateSpace::kRegister},
  };
  for (const auto& [text, space] : kSpaces) {
    if (directive == text) return space;
  }
  return std::nullopt;
}

std::optional<uint32_t> TypeBytes(std::string_view type) {
  constexpr std::array kTypes = {
      std::pair{"b8", 1u},    std::pair{"u8", 1u},   std::pair{"s8", 1u},     std::pair{"b16", 2u},
      std::pair{"u16", 2u},   std::pair{"s16", 2u},  std::pair{"f16", 2u},    std::pair{"bf16", 2u},
      std::pair{"b32", 4u},   std::pair{"u32", 4u},  std::pair{"s32", 4u},    std::pair{"f32", 4u},
      std::pair{"f16x2", 4u}, std::pair{"tf32", 4u}, std::pair{"bf16x2", 4u}, std::pair{"b64", 8u},
      std::pair{"u64", 8u},   std::pair{"s64", 8u},  std::pair{"f64", 8u},    std::pair{"b128", 16u},
      std::pair{"f32x2", 8u}, std::pair{"pred", 1u},
  };
  for (const auto& [name, bytes] : kTypes) {
    if (type == name) return bytes;
  }
  return std::nullopt;
}

absl::StatusOr<Variable> ParseDeclarationHead(Cursor& cursor, StateSpace space) {
  Variable head;
  head.space = space;
  head.alignment = 0;
  while (cursor.IsKind(Token::Kind::kDirective)) {
    ASSIGN_OR_RETURN(const bool is_attribute, TakeAttribute(cursor, head));
    if (is_attribute) continue;
    const std::string_view type = cursor.Peek().text.substr(1);
    const std::optional<uint32_t> bytes = TypeBytes(type);
    if (!bytes || !head.type.empty()) return cursor.Expected("a type or a name");
    head.type = std::string(type);
    head.element_bytes = *bytes;
    cursor.Take();
  }
  if (head.type.empty()) return cursor.Expected("a type such as .b32");
  if (head.alignment == 0) head.alignment = head.element_bytes * head.vector_width;
  return head;
}

absl::StatusOr<Variable> ParseDeclarator(Cursor& cursor, const Variable& head) {
  Variable variable = head;
  ASSIGN_OR_RETURN(const std::string_view name, cursor.ExpectWord("the name of a variable"));
  variable.name = std::string(name);
  std::vector<uint64_t> dimensions;
  RETURN_IF_ERROR(ParseDimensions(cursor, variable, dimensions));
  if (cursor.TakeIf("=")) RETURN_IF_ERROR(ParseInitialValue(cursor, dimensions, variable));
  return variable;
}

absl::StatusOr<std::vector<Variable>> ParseVariables(Cursor& cursor, StateSpace space) {
  ASSIGN_OR_RETURN(const Variable head, ParseDeclarationHead(cursor, space));
  std::vector<Variable> variables;
  do {
    ASSIGN_OR_RETURN(Variable variable, ParseDeclarator(cursor, head));
    variables.push_back(std::move(variable));
  } while (cursor.TakeIf(","));
  RETURN_IF_ERROR(cursor.Expect(";"));
  return variables;
}

absl::StatusOr<std::vector<Variable>> ParseParameters(Cursor& cursor) {
  std::vector<Variable> parameters;
  RETURN_IF_ERROR(cursor.Expect("("));
  if (cursor.TakeIf(")")) return parameters;
  do {
    RETURN_IF_ERROR(cursor.Expect(".param"));
    ASSIGN_OR_RETURN(const Variable head, ParseDeclarationHead(cursor, StateSpace::kParam));
    ASSIGN_OR_RETURN(Variable parameter, ParseDeclarator(cursor, head));
    parameters.push_back(std::move(parameter));
  } while (cursor.TakeIf(","));
  RETURN_IF_ERROR(cursor.Expect(")"));
  return parameters;
}

}  // namespace fsr::sim::ptx
