#include <algorithm>
#include <iterator>
#include <set>

#include "absl/strings/ascii.h"
#include "common/element_type.h"
#include "common/launch_plan_parts.h"
#include "common/near_miss.h"
#include "common/quote.h"
#include "common/status_macros.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace fsr {
namespace {

constexpr size_t kKernelNameLengthMax = 512;

std::vector<std::string> Strings(const auto& names) { return {std::begin(names), std::end(names)}; }

absl::Status UnknownWord(const DirectiveCursor& cursor, std::string_view kind, std::string_view word,
                         const std::vector<std::string>& known) {
  return cursor.Error(fmt::format("unknown {} {}, not one of {}{}", kind, Quoted(word), fmt::join(known, ", "),
                                  DidYouMean(word, known)));
}

// The template arguments after a kernel's name, "<256, float>", brackets included; empty if there are none.
absl::StatusOr<std::string> TemplateArguments(DirectiveCursor& cursor) {
  const std::string_view rest = cursor.Rest();
  if (rest.empty() || rest[0] != '<') return "";
  if (rest.substr(0, 3) == "<<<") {
    return cursor.Error("write grid=(...) block=(...) shared=... instead of <<<...>>>");
  }
  int angles = 0, parentheses = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
        std::string_view("_:,<>()+-*/% &").find(c) == std::string_view::npos) {
      return cursor.Error(fmt::format("{} cannot stand in a kernel's template arguments", Quoted(rest.substr(i, 1))));
    }
    if (c == '(') ++parentheses;
    if (c == ')') --parentheses;
    if (c == '<' && parentheses == 0) ++angles;
    if (c == '>' && parentheses == 0 && --angles == 0) return std::string(cursor.Characters(i + 1));
  }
  return cursor.Error("the \">\" after the kernel's template arguments is missing");
}

absl::StatusOr<std::string> KernelName(DirectiveCursor& cursor) {
  ASSIGN_OR_RETURN(std::string name, cursor.Identifier("a kernel's name"));
  while (cursor.Take(':')) {
    RETURN_IF_ERROR(cursor.Expect(':', "\"::\""));
    ASSIGN_OR_RETURN(const std::string part, cursor.Identifier("a name after \"::\""));
    name += "::" + part;
  }
  ASSIGN_OR_RETURN(const std::string arguments, TemplateArguments(cursor));
  name += arguments;
  if (name.size() > kKernelNameLengthMax) {
    return cursor.Error(fmt::format("the kernel's name is longer than {} characters", kKernelNameLengthMax));
  }
  return name;
}

// `shared` has no parentheses of its own: its expression ends before the next key, which a name and "=" or
// "cooperative" begin.
size_t LengthBeforeNextKey(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (depth > 0 || i == 0 || (text[i - 1] != ' ' && text[i - 1] != '\t' && text[i - 1] != ')')) continue;
    size_t end = i;
    while (end < text.size() && (absl::ascii_isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    if (end == i) continue;
    const size_t after = std::min(text.find_first_not_of(" \t", end), text.size());
    if (text.substr(i, end - i) == "cooperative" || (after < text.size() && text[after] == '=')) return i;
  }
  return text.size();
}

absl::Status ParseLaunchValue(DirectiveCursor& cursor, std::string_view key, Launch* launch) {
  if (key == "cooperative") {
    launch->cooperative = true;
    return cursor.NextIs('=') ? cursor.Error("cooperative takes no value") : absl::OkStatus();
  }
  RETURN_IF_ERROR(cursor.Expect('=', fmt::format("\"=\" after {}", key)));
  if (key == "shared") {
    const std::string_view rest = cursor.Rest();
    std::string_view text = cursor.Characters(LengthBeforeNextKey(rest));
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    ASSIGN_OR_RETURN(launch->shared, cursor.ParseExpression(key, text));
    return absl::OkStatus();
  }
  if (key == "args") {
    ASSIGN_OR_RETURN(const std::vector<std::string_view> args, cursor.List(key, kLaunchArgumentsMax));
    launch->args = Strings(args);
    launch->args_given = true;
    return absl::OkStatus();
  }
  std::vector<SizeExpression>& dimensions = key == "grid"    ? launch->grid
                                            : key == "block" ? launch->block
                                                             : launch->cluster;
  ASSIGN_OR_RETURN(dimensions, cursor.Expressions(key, 3));
  return absl::OkStatus();
}

absl::Status ParseTensorMapValue(DirectiveCursor& cursor, std::string_view key, TensorMap* map) {
  static constexpr std::string_view kSwizzles[] = {"none", "32B", "64B", "128B"};
  RETURN_IF_ERROR(cursor.Expect('=', fmt::format("\"=\" after {}", key)));
  if (key == "swizzle") {
    const std::string_view swizzle = cursor.Until(" \t");
    if (std::find(std::begin(kSwizzles), std::end(kSwizzles), swizzle) == std::end(kSwizzles)) {
      return UnknownWord(cursor, "swizzle", swizzle, Strings(kSwizzles));
    }
    map->swizzle = swizzle;
    return absl::OkStatus();
  }
  std::vector<SizeExpression>& extents = key == "dims" ? map->dims : map->box;
  ASSIGN_OR_RETURN(extents, cursor.Expressions(key, kTensorMapRankMax));
  return absl::OkStatus();
}

// Reads "key=value" pairs to the end of the line, each key at most once.
template <typename Part>
absl::Status ParseKeys(DirectiveCursor& cursor, const std::vector<std::string>& keys,
                       absl::Status (*parse_value)(DirectiveCursor&, std::string_view, Part*), Part* part) {
  std::set<std::string> seen;
  while (!cursor.AtEnd()) {
    ASSIGN_OR_RETURN(const std::string key, cursor.Identifier("a key such as " + keys[0] + "=(...)"));
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) return UnknownWord(cursor, "key", key, keys);
    if (!seen.insert(key).second) return cursor.Error(fmt::format("{} is given twice", key));
    RETURN_IF_ERROR(parse_value(cursor, key, part));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Tunable> ParseTune(DirectiveCursor& cursor) {
  Tunable tunable{.name = "", .values = {}, .line = cursor.line()};
  ASSIGN_OR_RETURN(tunable.name, cursor.Identifier("a tunable's name"));
  RETURN_IF_ERROR(cursor.Expect('=', "\"=\" and the values"));
  do {
    ASSIGN_OR_RETURN(const int64_t value, cursor.Integer("a whole number"));
    if (std::find(tunable.values.begin(), tunable.values.end(), value) != tunable.values.end()) {
      return cursor.Error(fmt::format("the value {} is given twice", value));
    }
    if (tunable.values.size() == kTunableValuesMax) {
      return cursor.Error(fmt::format("more than {} values", kTunableValuesMax));
    }
    tunable.values.push_back(value);
  } while (cursor.Take(','));
  RETURN_IF_ERROR(cursor.ExpectEnd());
  return tunable;
}

absl::StatusOr<ScratchBuffer> ParseScratch(DirectiveCursor& cursor) {
  ASSIGN_OR_RETURN(const std::string name, cursor.Identifier("a scratch buffer's name"));
  ASSIGN_OR_RETURN(const std::string type_name, cursor.Identifier("an element type such as f32"));
  const std::optional<v1::ElementType> type = ElementTypeByName(type_name);
  if (!type) {
    std::vector<std::string> known;
    for (int number = v1::ElementType_MIN + 1; number <= v1::ElementType_MAX; ++number) {
      known.emplace_back(NameOf(static_cast<v1::ElementType>(number)));
    }
    return UnknownWord(cursor, "element type", type_name, known);
  }
  RETURN_IF_ERROR(cursor.Expect('[', "\"[\" and the number of elements, as in f32[n]"));
  ASSIGN_OR_RETURN(SizeExpression count, cursor.ParseExpression("the number of elements", cursor.Until("]")));
  RETURN_IF_ERROR(cursor.Expect(']', "\"]\""));
  RETURN_IF_ERROR(cursor.ExpectEnd());
  return ScratchBuffer{.name = name, .type = *type, .count = std::move(count), .line = cursor.line()};
}

absl::StatusOr<Fill> ParseFill(DirectiveCursor& cursor) {
  ASSIGN_OR_RETURN(const std::string buffer, cursor.Identifier("a buffer's name"));
  ASSIGN_OR_RETURN(const int64_t byte, cursor.Integer("a byte from 0 to 255"));
  if (byte < 0 || byte > 255) return cursor.Error(fmt::format("{} is no byte: it must be from 0 to 255", byte));
  RETURN_IF_ERROR(cursor.ExpectEnd());
  return Fill{.buffer = buffer, .byte = static_cast<uint8_t>(byte), .line = cursor.line()};
}

absl::StatusOr<Launch> ParseLaunch(DirectiveCursor& cursor) {
  Launch launch;
  launch.line = cursor.line();
  ASSIGN_OR_RETURN(launch.kernel, KernelName(cursor));
  static const std::vector<std::string> kKeys = {"grid", "block", "shared", "args", "cluster", "cooperative"};
  RETURN_IF_ERROR(ParseKeys(cursor, kKeys, ParseLaunchValue, &launch));
  if (launch.grid.empty()) return cursor.Error("grid=(...) is missing");
  if (launch.block.empty()) return cursor.Error("block=(...) is missing");
  return launch;
}

absl::StatusOr<TensorMap> ParseTensorMap(DirectiveCursor& cursor) {
  TensorMap map;
  map.line = cursor.line();
  ASSIGN_OR_RETURN(map.name, cursor.Identifier("a tensor map's name"));
  RETURN_IF_ERROR(cursor.Expect('=', "\"=\" and a buffer's name"));
  ASSIGN_OR_RETURN(map.buffer, cursor.Identifier("a buffer's name"));
  RETURN_IF_ERROR(ParseKeys(cursor, {"dims", "box", "swizzle"}, ParseTensorMapValue, &map));
  if (map.dims.empty()) return cursor.Error("dims=(...) is missing");
  if (map.box.empty()) return cursor.Error("box=(...) is missing");
  if (map.dims.size() != map.box.size()) {
    return cursor.Error(fmt::format("dims has {} entries but box has {}", map.dims.size(), map.box.size()));
  }
  return map;
}

absl::StatusOr<std::string> ParseOption(DirectiveCursor& cursor) {
  const std::string option(cursor.Until(" \t"));
  RETURN_IF_ERROR(cursor.ExpectEnd());
  for (std::string_view allowed : kAllowedCompileOptions) {
    if (option == allowed && allowed.back() != '=') return option;
    if (allowed.back() != '=' || option.substr(0, allowed.size()) != allowed) continue;
    DirectiveCursor number(std::string_view(option).substr(allowed.size()), cursor.line());
    number.set_directive("option");
    ASSIGN_OR_RETURN(const int64_t value, number.Integer(fmt::format("a whole number after {}", allowed)));
    RETURN_IF_ERROR(number.ExpectEnd());
    if (value >= kMaxRegistersMin && value <= kMaxRegistersMax) return fmt::format("{}{}", allowed, value);
    return cursor.Error(
        fmt::format("{}{} is out of range: from {} to {}", allowed, value, kMaxRegistersMin, kMaxRegistersMax));
  }
  return UnknownWord(cursor, "option", option, Strings(kAllowedCompileOptions));
}

}  // namespace fsr
