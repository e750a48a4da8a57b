#include "server/answers/bare_code.h"

#include <algorithm>
#include <array>

#include "server/answers/code_shape.h"
#include "server/answers/plain_text.h"

namespace fsr {
namespace {

bool BeginsSource(std::string_view line) {
  constexpr std::array<std::string_view, 18> kBeginnings = {
      "// fsr:",    "#include",     "#define",   "#pragma",    "#if",          "__global__",
      "__device__", "__constant__", "template ", "template<",  "extern \"C\"", "static ",
      "using ",     "struct ",      "typedef ",  "constexpr ", "namespace ",   "//"};
  line = TrimBlank(line);
  return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view beginning) { return line.substr(0, beginning.size()) == beginning; });
}

bool EndsSource(std::string_view line) {
  line = TrimBlank(line);
  return !line.empty() && (line.back() == '}' || line.back() == ';' || line[0] == '#' || line.substr(0, 2) == "//" ||
                           (line.size() >= 2 && line.substr(line.size() - 2) == "*/"));
}

}  // namespace

std::string BareCode(std::string_view text) {
  std::string_view rest = text;
  size_t begin = std::string_view::npos, end = 0;
  while (!rest.empty()) {
    const size_t at = text.size() - rest.size();
    const std::string_view line = TakeLine(&rest);
    const bool begins_comment = TrimBlank(line).substr(0, 2) == "/*";
    if (begin == std::string_view::npos && (BeginsSource(line) || begins_comment)) begin = at;
    if (begin != std::string_view::npos && EndsSource(line)) end = text.size() - rest.size();
  }
  if (begin == std::string_view::npos) return "";
  // Code that was cut off ends anywhere.
  const std::string_view whole = text.substr(begin), trimmed = text.substr(begin, std::max(end, begin) - begin);
  std::string code(TrimBlank(ShapeOf(trimmed).is_balanced ? trimmed : whole));
  code.push_back('\n');
  return ShapeOf(code).defined.empty() ? "" : code;
}

}  // namespace fsr
