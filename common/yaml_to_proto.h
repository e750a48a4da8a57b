// YAML text into a protobuf message, strictly: what is not a field of the message is an error, not ignored.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace fsr {

inline constexpr int kYamlNodesMax = 50'000;  // aliases count wherever they are used

// Field names are the message's, enum values the enum's in lower case. Understands strings, booleans, 64-bit integers,
// doubles, enums, messages, lists of these, and maps by string. `document` is what the complaints call the text, such
// as "task.yaml"; `elsewhere` has top-level fields that may not stand in the text, with the reason.
// INVALID_ARGUMENT has a line "DOCUMENT:LINE: FIELD: …" for every complaint; `message` is then partly filled.
absl::Status YamlToMessage(std::string_view yaml, std::string_view document,
                           const std::map<std::string, std::string>& elsewhere, google::protobuf::Message* message);

}  // namespace fsr
