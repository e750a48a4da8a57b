#include "worker/compile/source_scan.h"

#include <algorithm>
#include <optional>
#include <set>

#include "common/status_macros.h"
#include "fmt/format.h"
#include "worker/compile/source_lexer.h"

namespace fsr {
namespace {

using Kind = SourceToken::Kind;

const std::set<std::string_view> kIncludeDirectives = {"include", "include_next", "import", "embed"};
const std::set<std::string_view> kIncludeQuestions = {"__has_include", "__has_include_next", "__has_embed"};

absl::Status Refuse(int line, std::string_view what) {
  return absl::InvalidArgumentError(
      fmt::format("Line {}: {} Only the CUDA Toolkit's own headers can be included, by their plain names, such as "
                  "<cuda_fp16.h> or <cuda/std/cstdint>.",
                  line, what));
}

absl::Status CheckPath(const SourceToken& header) {
  const std::string& path = header.text;
  if (!path.empty() && path.front() == '/') {
    return Refuse(header.line, fmt::format("the absolute path \"{}\" cannot be included.", path));
  }
  if (path.find('\\') != std::string::npos) {
    return Refuse(header.line, fmt::format("the path \"{}\" contains a backslash.", path));
  }
  for (size_t start = 0; start <= path.size();) {
    size_t end = std::min(path.find('/', start), path.size());
    if (path.substr(start, end - start) == "..") {
      return Refuse(header.line, fmt::format("the path \"{}\" leaves its folder.", path));
    }
    start = end + 1;
  }
  return absl::OkStatus();
}

// The parts of a directive: `# word operand…` up to the next line.
absl::Status CheckTokens(const std::vector<SourceToken>& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const SourceToken& token = tokens[i];
    auto follows = [&](size_t steps) -> const SourceToken* {
      if (i + steps >= tokens.size()) return nullptr;
      for (size_t k = 1; k <= steps; ++k) {
        if (tokens[i + k].starts_line) return nullptr;
      }
      return &tokens[i + steps];
    };
    if (token.kind == Kind::kPunctuation && token.text == "#" && token.starts_line) {
      const SourceToken* word = follows(1);
      if (word == nullptr || kIncludeDirectives.count(word->text) == 0) continue;
      const SourceToken* operand = follows(2);
      if (operand == nullptr || operand->kind != Kind::kHeaderName) {
        return Refuse(token.line,
                      fmt::format("#{} takes a name in quotes or angle brackets here, not a macro.", word->text));
      }
      RETURN_IF_ERROR(CheckPath(*operand));
    } else if (token.kind == Kind::kIdentifier && kIncludeQuestions.count(token.text) > 0) {
      const SourceToken* operand = follows(2);
      if (operand != nullptr && operand->kind == Kind::kHeaderName) {
        RETURN_IF_ERROR(CheckPath(*operand));
        continue;
      }
      // What is left harmless is the question whether the compiler knows it.
      const size_t before = i >= 1 && tokens[i - 1].text == "(" ? 2 : 1;
      const std::string_view asked = i >= before ? std::string_view(tokens[i - before].text) : "";
      if (asked != "defined" && asked != "ifdef" && asked != "ifndef") {
        return Refuse(token.line, fmt::format("{} takes a name in quotes or angle brackets here, not a macro, and "
                                              "cannot be renamed.",
                                              token.text));
      }
    }
  }
  return absl::OkStatus();
}

// The function's name in the tokens after `__global__`: the first identifier before a parenthesis that is no attribute.
std::optional<std::string> NameAfterGlobal(const std::vector<SourceToken>& tokens, size_t at) {
  static const std::set<std::string_view> kAttributes = {"__launch_bounds__", "__cluster_dims__", "__maxnreg__",
                                                         "__block_size__",    "__attribute__",    "alignas"};
  int depth = 0;
  bool in_attribute = false;
  for (size_t i = at; i < tokens.size(); ++i) {
    const SourceToken& token = tokens[i];
    if (token.text == ";" || token.text == "{") return std::nullopt;
    if (token.text == "(") {
      if (depth++ > 0 || in_attribute || i == at) continue;
      const SourceToken& name = tokens[i - 1];
      if (name.kind == Kind::kIdentifier && kAttributes.count(name.text) == 0) return name.text;
      in_attribute = true;
    } else if (token.text == ")" && --depth == 0) {
      in_attribute = false;
    }
  }
  return std::nullopt;
}

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

absl::Status CheckIncludes(std::string_view source) {
  if (Contains(source, std::string_view("\0", 1))) {
    return absl::InvalidArgumentError("The source contains a NUL byte; remove it.");
  }
  const bool trigraphs = Contains(source, "??");
  const bool blanks = Contains(source, "\\ ") || Contains(source, "\\\t") || Contains(source, "\\\v") ||
                      Contains(source, "\\\f") || Contains(source, "\\\r");
  const bool raw = Contains(source, "R\"") || Contains(source, "R\\");
  for (bool with_trigraphs : {false, true}) {
    if (with_trigraphs && !trigraphs) continue;
    for (bool with_blanks : {false, true}) {
      if (with_blanks && !blanks) continue;
      for (bool with_raw : {true, false}) {
        if (!with_raw && !raw) continue;
        const LexOptions options = {
            .trigraphs = with_trigraphs, .blanks_in_splice = with_blanks, .raw_strings = with_raw};
        RETURN_IF_ERROR(CheckTokens(LexSource(source, options)));
      }
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> KernelNames(std::string_view source) {
  const std::vector<SourceToken> tokens = LexSource(source, {});
  std::vector<std::string> names;
  std::set<std::string> seen;
  bool after_template = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (text == "template") after_template = true;
    if (text == ";" || text == "}") after_template = false;
    if (text != "__global__") continue;
    std::optional<std::string> name = NameAfterGlobal(tokens, i + 1);
    if (name.has_value() && seen.insert(*name).second) names.push_back(after_template ? *name + "<…>" : *name);
    after_template = false;
  }
  return names;
}

}  // namespace fsr
