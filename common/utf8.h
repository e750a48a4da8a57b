// Text of others made fit for protobuf strings.
#pragma once

#include <string>
#include <string_view>

namespace fsr {

// Each byte that is part of no well-formed UTF-8 sequence, and NUL, replaced by U+FFFD.
std::string ToUtf8(std::string_view bytes);

}  // namespace fsr
