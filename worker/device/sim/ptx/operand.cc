#include "worker/device/sim/ptx/operand.h"

#include <array>
#include <utility>

#include "common/status_macros.h"
#include "worker/device/sim/ptx/literal.h"

namespace fsr::sim::ptx {
namespace {

constexpr std::array kElementNames = {".x", ".y", ".z", ".w"};

class OperandParser {
 public:
  OperandParser(Cursor& cursor, const Scopes& scopes) : cursor_(cursor), scopes_(scopes) {}

  absl::StatusOr<Operand> Parse() {
    if (cursor_.Is("{")) return ParseVector();
    if (cursor_.Is("[")) return ParseAddress();
    return ParseScalar();
  }

 private:
  absl::StatusOr<Operand> ParseScalar() {
    const bool negated = cursor_.Is("!") && cursor_.Peek(1).kind == Token::Kind::kWord;
    if (negated) cursor_.Take();
    if (!cursor_.IsKind(Token::Kind::kWord) || cursor_.Is("WARP_SZ")) return ParseImmediate();
    Operand operand = Name(cursor_.Take().text);
    operand.negated = negated;
    if (negated && operand.kind != Operand::Kind::kRegister)
      return cursor_.Expected("a predicate register before this");
    if (operand.kind == Operand::Kind::kSymbol) {
      ASSIGN_OR_RETURN(operand.offset, ParseOffset());
    }
    if (cursor_.TakeIf("|")) {
      ASSIGN_OR_RETURN(const std::string_view second, cursor_.ExpectWord("a register after '|'"));
      if (second != "_") operand.second = ResolveName(scopes_, second);
    }
    return operand;
  }

  absl::StatusOr<Operand> ParseImmediate() {
    if (!cursor_.IsKind(Token::Kind::kNumber) && !cursor_.Is("-") && !cursor_.Is("+") && !cursor_.Is("~") &&
        !cursor_.Is("!") && !cursor_.Is("(") && !cursor_.Is("WARP_SZ")) {
      return cursor_.Expected("an operand");
    }
    ASSIGN_OR_RETURN(const Literal literal, ParseConstant(cursor_));
    Operand operand;
    operand.kind = Operand::Kind::kImmediate;
    operand.bits = literal.bits;
    operand.is_float = literal.is_float;
    return operand;
  }

  Operand Name(std::string_view name) const {
    Operand operand;
    if (name == "_") {
      operand.kind = Operand::Kind::kSink;
      return operand;
    }
    const Symbol* symbol = scopes_.Find(name);
    operand.name = ResolveName(scopes_, name);
    if (symbol != nullptr && symbol->kind == Symbol::Kind::kRegister && symbol->vector_width > 1) {
      return WholeVector(*symbol);
    }
    // What is neither declared here nor spelt like a register is of the module, or a label of a call's targets.
    const std::string_view base = name.substr(0, name.find('.'));
    const Symbol* base_symbol = symbol != nullptr ? symbol : scopes_.Find(base);
    const bool is_register =
        base_symbol != nullptr ? base_symbol->kind == Symbol::Kind::kRegister : name.front() == '%';
    operand.kind = is_register ? Operand::Kind::kRegister : Operand::Kind::kSymbol;
    return operand;
  }

  static Operand WholeVector(const Symbol& symbol) {
    Operand vector;
    vector.kind = Operand::Kind::kVector;
    for (uint32_t i = 0; i < symbol.vector_width; ++i) {
      Operand element;
      element.name = symbol.unique_name + kElementNames.at(i);
      vector.elements.push_back(std::move(element));
    }
    return vector;
  }

  absl::StatusOr<Operand> ParseVector() {
    Operand vector;
    vector.kind = Operand::Kind::kVector;
    RETURN_IF_ERROR(cursor_.Expect("{"));
    do {
      ASSIGN_OR_RETURN(Operand element, ParseScalar());
      vector.elements.push_back(std::move(element));
    } while (cursor_.TakeIf(","));
    RETURN_IF_ERROR(cursor_.Expect("}"));
    return vector;
  }

  absl::StatusOr<Operand> ParseAddress() {
    Operand address;
    RETURN_IF_ERROR(cursor_.Expect("["));
    if (cursor_.IsKind(Token::Kind::kWord)) {
      address = Name(cursor_.Take().text);
      if (address.kind != Operand::Kind::kRegister && address.kind != Operand::Kind::kSymbol) {
        return cursor_.Expected("one register or variable as the base of an address before this");
      }
      address.is_symbol_base = address.kind == Operand::Kind::kSymbol;
      ASSIGN_OR_RETURN(address.offset, ParseOffset());
    } else {
      ASSIGN_OR_RETURN(const Operand absolute, ParseImmediate());
      if (absolute.is_float) return cursor_.Expected("an integer address before this");
      address.offset = static_cast<int64_t>(absolute.bits);
    }
    address.kind = Operand::Kind::kAddress;
    while (cursor_.TakeIf(",")) {
      ASSIGN_OR_RETURN(Operand coordinate, cursor_.Is("{") ? ParseVector() : ParseScalar());
      address.elements.push_back(std::move(coordinate));
    }
    RETURN_IF_ERROR(cursor_.Expect("]"));
    return address;
  }

  // "+4", "-4", "+-4", "+4*8-1", or nothing.
  absl::StatusOr<int64_t> ParseOffset() {
    uint64_t offset = 0;
    while (cursor_.Is("+") || cursor_.Is("-")) {
      const bool minus = cursor_.Take().text == "-";
      ASSIGN_OR_RETURN(const Literal literal, ParseConstantTerm(cursor_));
      if (literal.is_float) return cursor_.Expected("an integer offset before this");
      offset = minus ? offset - literal.bits : offset + literal.bits;
    }
    return static_cast<int64_t>(offset);
  }

  Cursor& cursor_;
  const Scopes& scopes_;
};

}  // namespace

absl::StatusOr<Operand> ParseOperand(Cursor& cursor, const Scopes& scopes) {
  return OperandParser(cursor, scopes).Parse();
}

std::string ResolveName(const Scopes& scopes, std::string_view name) {
  if (const Symbol* symbol = scopes.Find(name)) return symbol->unique_name;
  const size_t dot = name.find('.');
  if (dot != std::string_view::npos) {
    if (const Symbol* base = scopes.Find(name.substr(0, dot))) {
      return base->unique_name + std::string(name.substr(dot));
    }
  }
  return std::string(name);
}

absl::StatusOr<std::vector<std::string>> ParseCallList(Cursor& cursor, const Scopes& scopes) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(cursor.Expect("("));
  if (cursor.TakeIf(")")) return names;
  do {
    ASSIGN_OR_RETURN(const std::string_view name, cursor.ExpectWord("a parameter of the call"));
    names.push_back(ResolveName(scopes, name));
  } while (cursor.TakeIf(","));
  RETURN_IF_ERROR(cursor.Expect(")"));
  return names;
}

}  // namespace fsr::sim::ptx
