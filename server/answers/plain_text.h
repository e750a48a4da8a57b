// What pages, editors and chat programs do to a text on its way, undone.
#pragma once

#include <string>
#include <string_view>

namespace fsr {

// Without byte order marks and zero-width characters, with plain spaces for no-break ones, and every line ended by "\n"
// alone. Giving it its own result changes nothing.
std::string PlainText(std::string_view text);

// `code` with its HTML entities decoded, if all of it was escaped: it has entities, and neither a '<' nor an '&' that
// is none. Otherwise as it is.
std::string Unescaped(std::string code);

std::string_view TrimBlank(std::string_view text);

// The first line of `*rest`, which is taken away with its line end.
std::string_view TakeLine(std::string_view* rest);

}  // namespace fsr
