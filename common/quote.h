// Text of others inside our messages.
#pragma once

#include <string>
#include <string_view>

namespace fsr {

// `text` in double quotes, as printable ASCII: other bytes as \xNN, the tail of a long text left out. Messages travel
// in protobuf strings, which must be UTF-8, and land on terminals.
std::string Quoted(std::string_view text);

// Whether `text` may go into a protobuf string: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool IsUtf8(std::string_view text);

}  // namespace fsr
