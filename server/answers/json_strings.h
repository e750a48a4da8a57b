// Answers wrapped into JSON, such as {"change": "…", "code": "…"} or a tool call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fsr {

// Every string value of a JSON object or list, in order; of one that is cut off, those before the cut. Strings that
// are objects again count as what they hold. Empty if `text` is no JSON object or list.
std::vector<std::string> JsonStrings(std::string_view text);

}  // namespace fsr
