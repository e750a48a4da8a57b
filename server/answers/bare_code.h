// Code that nothing marks as such.
#pragma once

#include <string>
#include <string_view>

namespace fsr {

// The code in `text` from its first line that only a source has to its last one, without sentences before and after;
// empty if it defines no kernel.
std::string BareCode(std::string_view text);

}  // namespace fsr
