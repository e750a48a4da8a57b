#include "worker/device/sim/ptx/parser.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "worker/device/sim/ptx/body.h"
#include "worker/device/sim/ptx/declaration.h"
#include "worker/device/sim/ptx/lexer.h"
#include "worker/device/sim/ptx/source_positions.h"

namespace fsr::sim::ptx {
namespace {

class ModuleParser {
 public:
  explicit ModuleParser(const std::vector<Token>& tokens) : cursor_(tokens) {}

  absl::StatusOr<Module> Parse() {
    if (!cursor_.Is(".version")) return cursor_.Expected(".version, with which PTX begins");
    while (!cursor_.AtEnd()) RETURN_IF_ERROR(ParseDirective());
    ResolvePositions();
    return std::move(module_);
  }

 private:
  absl::Status ParseDirective() {
    if (cursor_.TakeIf(";")) return absl::OkStatus();
    if (cursor_.TakeIf(".version")) {
      if (!cursor_.IsKind(Token::Kind::kNumber)) return cursor_.Expected("a version such as 9.0");
      module_.version = std::string(cursor_.Take().text);
      return absl::OkStatus();
    }
    if (cursor_.TakeIf(".target")) return ParseTarget();
    if (cursor_.TakeIf(".address_size")) {
      ASSIGN_OR_RETURN(const uint64_t bits, cursor_.ExpectInteger("64"));
      if (bits != 64) return ErrorAt(cursor_.Peek().line, fmt::format("addresses have 64 bits here, not {}", bits));
      return absl::OkStatus();
    }
    if (cursor_.TakeIf(".file")) return ParseFile();
    if (cursor_.TakeIf(".loc")) return ParseLocation(cursor_, context_.positions).status();
    if (cursor_.TakeIf(".section")) return cursor_.SkipPast("}");
    if (cursor_.TakeIf(".pragma") || cursor_.TakeIf(".alias")) return cursor_.SkipPast(";");
    return ParseLinked();
  }

  absl::Status ParseTarget() {
    ASSIGN_OR_RETURN(const std::string_view target, cursor_.ExpectWord("a target such as sm_90a"));
    module_.target = std::string(target);
    while (cursor_.TakeIf(",")) RETURN_IF_ERROR(cursor_.ExpectWord("a target option").status());
    return absl::OkStatus();
  }

  absl::Status ParseFile() {
    ASSIGN_OR_RETURN(const uint64_t index, cursor_.ExpectInteger("a file's index"));
    if (!cursor_.IsKind(Token::Kind::kString)) return cursor_.Expected("a file's name in quotes");
    module_.files[static_cast<uint32_t>(index)] = std::string(cursor_.Take().text);
    // Its time and size.
    while (cursor_.TakeIf(",")) RETURN_IF_ERROR(cursor_.ExpectInteger("a number").status());
    return absl::OkStatus();
  }

  // What may have a linkage: functions and variables.
  absl::Status ParseLinked() {
    bool is_extern = false;
    while (cursor_.Is(".visible") || cursor_.Is(".extern") || cursor_.Is(".weak") || cursor_.Is(".common")) {
      is_extern = is_extern || cursor_.Is(".extern");
      cursor_.Take();
    }
    if (cursor_.Is(".entry") || cursor_.Is(".func")) return ParseFunction();
    const std::optional<StateSpace> space = StateSpaceOf(cursor_.Peek().text);
    const bool is_global = space && *space != StateSpace::kParam && *space != StateSpace::kRegister;
    if (!is_global || !cursor_.IsKind(Token::Kind::kDirective)) {
      return cursor_.Expected("a function, a variable or another module directive");
    }
    cursor_.Take();
    ASSIGN_OR_RETURN(std::vector<Variable> variables, ParseVariables(cursor_, *space));
    for (Variable& variable : variables) {
      variable.is_extern = is_extern;
      module_.variables.push_back(std::move(variable));
    }
    return absl::OkStatus();
  }

  absl::Status ParseFunction() {
    Function function;
    function.is_entry = cursor_.Take().text == ".entry";
    // A prototype may leave its parameters without names, so that it is only skipped.
    if (IsPrototype()) return cursor_.SkipPast(";");
    TakeFunctionAttributes(function);
    if (cursor_.Is("(")) {
      ASSIGN_OR_RETURN(function.returns, ParseParameters(cursor_));
    }
    ASSIGN_OR_RETURN(const std::string_view name, cursor_.ExpectWord("the name of a function"));
    function.name = std::string(name);
    if (cursor_.Is("(")) {
      ASSIGN_OR_RETURN(function.parameters, ParseParameters(cursor_));
    }
    TakeFunctionAttributes(function);
    handles_.emplace_back();
    RETURN_IF_ERROR(ParseBody(cursor_, context_, function, handles_.back()));
    module_.functions.push_back(std::move(function));
    return absl::OkStatus();
  }

  bool IsPrototype() const {
    for (size_t i = 0;; ++i) {
      const Token& token = cursor_.Peek(i);
      if (token.kind == Token::Kind::kEnd || token.text == "{") return false;
      if (token.text == ";") return true;
    }
  }

  // ".maxntid 256, 1, 1" and others: a directive and numbers, of which only these say something about a launch.
  void TakeFunctionAttributes(Function& function) {
    while (cursor_.IsKind(Token::Kind::kDirective)) {
      const std::string_view attribute = cursor_.Take().text;
      std::vector<uint32_t> values;
      while (cursor_.IsKind(Token::Kind::kNumber)) {
        const absl::StatusOr<uint64_t> value = cursor_.ExpectInteger("a number");
        if (!value.ok()) return;
        values.push_back(static_cast<uint32_t>(*value));
        if (!cursor_.TakeIf(",")) break;
      }
      if (attribute == ".reqnctapercluster") function.required_cluster = values;
      if (attribute == ".maxntid" || attribute == ".reqntid") {
        function.max_threads = 1;
        for (const uint32_t value : values) function.max_threads *= value;
      }
    }
  }

  void ResolvePositions() {
    const uint32_t own_file = OwnFile(module_.files);
    for (size_t i = 0; i < handles_.size(); ++i) {
      for (size_t k = 0; k < handles_[i].size(); ++k) {
        const SourcePosition position = context_.positions.Resolve(handles_[i][k], own_file);
        module_.functions[i].instructions[k].source_file = position.file;
        module_.functions[i].instructions[k].source_line = position.line;
      }
    }
  }

  Cursor cursor_;
  Module module_;
  BodyContext context_;
  std::vector<std::vector<uint32_t>> handles_;  // by function, by instruction
};

}  // namespace

absl::StatusOr<Module> ParseModule(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<Token> tokens, Lex(text));
  return ModuleParser(tokens).Parse();
}

}  // namespace fsr::sim::ptx
