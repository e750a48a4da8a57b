#include "worker/device/sim/ptx/body.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "common/status_macros.h"
#include "worker/device/sim/ptx/declaration.h"
#include "worker/device/sim/ptx/operand.h"
#include "worker/device/sim/ptx/scope.h"

namespace fsr::sim::ptx {
namespace {

class BodyParser {
 public:
  BodyParser(Cursor& cursor, BodyContext& context, Function& function, std::vector<uint32_t>& handles)
      : cursor_(cursor), context_(context), function_(function), handles_(handles) {}

  absl::Status Parse() {
    RETURN_IF_ERROR(OpenScope());
    for (const std::vector<Variable>* list : {&function_.parameters, &function_.returns}) {
      for (const Variable& variable : *list) RETURN_IF_ERROR(Declare(variable.name, Symbol::Kind::kVariable).status());
    }
    while (scopes_.depth() > 0) RETURN_IF_ERROR(ParseStatement());
    return absl::OkStatus();
  }

 private:
  absl::Status OpenScope() {
    RETURN_IF_ERROR(cursor_.Expect("{"));
    if (!scopes_.Push()) return cursor_.Expected(fmt::format("at most {} nested braces", Scopes::kDepthMax));
    return DeclareLabels();
  }

  // A jump may come before its label, and means the one of the innermost scope all the same.
  absl::Status DeclareLabels() {
    int depth = 0;
    for (size_t i = 0; depth >= 0 && cursor_.Peek(i).kind != Token::Kind::kEnd; ++i) {
      const Token& token = cursor_.Peek(i);
      if (token.kind == Token::Kind::kString) continue;
      if (token.text == "{") ++depth;
      if (token.text == "}") --depth;
      const bool is_label = depth == 0 && token.kind == Token::Kind::kWord && cursor_.Peek(i + 1).text == ":";
      if (is_label && scopes_.Declare(token.text, Symbol::Kind::kLabel) == nullptr) {
        return ErrorAt(token.line, fmt::format("the label '{}' stands here a second time", token.text));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Declare(std::string_view name, Symbol::Kind kind, uint32_t vector_width = 1) {
    const Symbol* symbol = scopes_.Declare(name, kind, vector_width);
    if (symbol == nullptr) {
      return ErrorAt(cursor_.Peek().line, fmt::format("'{}' is declared a second time in the same braces", name));
    }
    return symbol->unique_name;
  }

  absl::Status ParseStatement() {
    if (cursor_.TakeIf(";")) return absl::OkStatus();
    if (cursor_.Is("{")) return OpenScope();
    if (cursor_.TakeIf("}")) {
      scopes_.Pop();
      return absl::OkStatus();
    }
    if (cursor_.IsKind(Token::Kind::kDirective)) return ParseDirective();
    if (cursor_.IsKind(Token::Kind::kWord) && cursor_.Peek(1).text == ":") return ParseLabel();
    return ParseInstruction();
  }

  absl::Status ParseDirective() {
    if (cursor_.TakeIf(".loc")) {
      ASSIGN_OR_RETURN(position_, ParseLocation(cursor_, context_.positions));
      return absl::OkStatus();
    }
    if (cursor_.TakeIf(".pragma")) return cursor_.SkipPast(";");
    if (cursor_.TakeIf(".reg")) return ParseRegisters();
    const std::optional<StateSpace> space = StateSpaceOf(cursor_.Peek().text);
    if (!space) return cursor_.Expected("an instruction or a declaration");
    cursor_.Take();
    ASSIGN_OR_RETURN(std::vector<Variable> variables, ParseVariables(cursor_, *space));
    for (Variable& variable : variables) {
      ASSIGN_OR_RETURN(variable.name, Declare(variable.name, Symbol::Kind::kVariable));
      function_.variables.push_back(std::move(variable));
    }
    return absl::OkStatus();
  }

  absl::Status ParseRegisters() {
    ASSIGN_OR_RETURN(const Variable head, ParseDeclarationHead(cursor_, StateSpace::kRegister));
    do {
      ASSIGN_OR_RETURN(const std::string_view name, cursor_.ExpectWord("the name of a register"));
      if (!cursor_.TakeIf("<")) {
        RETURN_IF_ERROR(DeclareRegister(name, head));
        continue;
      }
      ASSIGN_OR_RETURN(const uint64_t count, cursor_.ExpectInteger("a number of registers"));
      RETURN_IF_ERROR(cursor_.Expect(">"));
      for (uint64_t i = 0; i < count; ++i) RETURN_IF_ERROR(DeclareRegister(fmt::format("{}{}", name, i), head));
    } while (cursor_.TakeIf(","));
    return cursor_.Expect(";");
  }

  absl::Status DeclareRegister(std::string_view name, const Variable& head) {
    constexpr std::array kElementNames = {".x", ".y", ".z", ".w"};
    if (head.vector_width > kElementNames.size()) return cursor_.Expected("a register vector of 2 or 4 before this");
    if (++context_.registers_declared > kRegistersMax) {
      return cursor_.Expected(fmt::format("at most {} registers in a module", kRegistersMax));
    }
    ASSIGN_OR_RETURN(const std::string unique, Declare(name, Symbol::Kind::kRegister, head.vector_width));
    if (head.vector_width == 1) {
      function_.registers[unique] = {head.type};
      return absl::OkStatus();
    }
    for (uint32_t i = 0; i < head.vector_width; ++i) function_.registers[unique + kElementNames[i]] = {head.type};
    return absl::OkStatus();
  }

  absl::Status ParseLabel() {
    const std::string unique = ResolveName(scopes_, cursor_.Take().text);
    RETURN_IF_ERROR(cursor_.Expect(":"));
    if (cursor_.TakeIf(".branchtargets")) {
      std::vector<std::string>& targets = function_.branch_targets[unique];
      do {
        ASSIGN_OR_RETURN(std::string target, ParseJumpTarget());
        targets.push_back(std::move(target));
      } while (cursor_.TakeIf(","));
      return cursor_.Expect(";");
    }
    // What an indirect call may reach is known when it is made.
    if (cursor_.Is(".callprototype") || cursor_.Is(".calltargets")) return cursor_.SkipPast(";");
    function_.labels[unique] = static_cast<uint32_t>(function_.instructions.size());
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ParseJumpTarget() {
    const Symbol* symbol = cursor_.IsKind(Token::Kind::kWord) ? scopes_.Find(cursor_.Peek().text) : nullptr;
    if (symbol == nullptr || symbol->kind != Symbol::Kind::kLabel) return cursor_.Expected("a label of this function");
    cursor_.Take();
    return symbol->unique_name;
  }

  absl::Status ParseInstruction() {
    Instruction instruction;
    instruction.ptx_line = cursor_.Peek().line;
    if (cursor_.TakeIf("@")) {
      ASSIGN_OR_RETURN(instruction.guard, ParseOperand(cursor_, scopes_));
      if (instruction.guard->kind != Operand::Kind::kRegister) return cursor_.Expected("a guard predicate before this");
    }
    ASSIGN_OR_RETURN(const std::string_view opcode, cursor_.ExpectWord("an instruction"));
    instruction.full = std::string(opcode);
    while (cursor_.IsKind(Token::Kind::kDirective)) instruction.full += cursor_.Take().text;
    SplitOpcode(instruction);
    if (instruction.opcode == "call") {
      RETURN_IF_ERROR(ParseCall(instruction));
    } else if (instruction.opcode == "bra") {
      Operand target;
      target.kind = Operand::Kind::kSymbol;
      ASSIGN_OR_RETURN(target.name, ParseJumpTarget());
      instruction.operands.push_back(std::move(target));
    } else if (!cursor_.Is(";")) {
      do {
        ASSIGN_OR_RETURN(Operand operand, ParseOperand(cursor_, scopes_));
        instruction.operands.push_back(std::move(operand));
      } while (cursor_.TakeIf(","));
    }
    RETURN_IF_ERROR(cursor_.Expect(";"));
    function_.instructions.push_back(std::move(instruction));
    handles_.push_back(position_);
    return absl::OkStatus();
  }

  static void SplitOpcode(Instruction& instruction) {
    std::string_view rest = instruction.full;
    while (!rest.empty()) {
      const size_t dot = rest.find('.');
      const std::string part(rest.substr(0, dot));
      if (instruction.opcode.empty()) {
        instruction.opcode = part;
      } else {
        instruction.modifiers.push_back(part);
      }
      rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    }
  }

  // call (returns), function, (arguments), prototype; each but the function may be missing.
  absl::Status ParseCall(Instruction& instruction) {
    if (cursor_.Is("(")) {
      ASSIGN_OR_RETURN(instruction.call_returns, ParseCallList(cursor_, scopes_));
      RETURN_IF_ERROR(cursor_.Expect(","));
    }
    ASSIGN_OR_RETURN(const std::string_view callee, cursor_.ExpectWord("the function to call"));
    instruction.callee = ResolveName(scopes_, callee);
    if (cursor_.Is(",") && cursor_.Peek(1).text == "(") {
      cursor_.Take();
      ASSIGN_OR_RETURN(instruction.call_arguments, ParseCallList(cursor_, scopes_));
    }
    if (cursor_.TakeIf(",")) return cursor_.ExpectWord("a call prototype").status();
    return absl::OkStatus();
  }

  Cursor& cursor_;
  BodyContext& context_;
  Function& function_;
  std::vector<uint32_t>& handles_;
  Scopes scopes_;
  uint32_t position_ = SourcePositions::kNone;
};

absl::StatusOr<SourcePosition> ParsePosition(Cursor& cursor) {
  std::array<uint32_t, 3> parts{};
  for (uint32_t& part : parts) {
    ASSIGN_OR_RETURN(const uint64_t value, cursor.ExpectInteger("a file, a line and a column"));
    part = static_cast<uint32_t>(value);
  }
  return SourcePosition{parts[0], parts[1], parts[2]};
}

}  // namespace

absl::Status ParseBody(Cursor& cursor, BodyContext& context, Function& function, std::vector<uint32_t>& handles) {
  context.positions.StartFunction();
  return BodyParser(cursor, context, function, handles).Parse();
}

absl::StatusOr<uint32_t> ParseLocation(Cursor& cursor, SourcePositions& positions) {
  ASSIGN_OR_RETURN(const SourcePosition position, ParsePosition(cursor));
  std::optional<SourcePosition> inlined_at;
  while (cursor.TakeIf(",")) {
    if (cursor.TakeIf("function_name")) {
      RETURN_IF_ERROR(cursor.ExpectWord("a label of .debug_str").status());
      // "label+24": an offset into the section.
      if (cursor.TakeIf("+")) RETURN_IF_ERROR(cursor.ExpectInteger("an offset").status());
    } else {
      RETURN_IF_ERROR(cursor.Expect("inlined_at"));
      ASSIGN_OR_RETURN(inlined_at, ParsePosition(cursor));
    }
  }
  return positions.Add(position, inlined_at);
}

}  // namespace fsr::sim::ptx
