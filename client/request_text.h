// The text in a request before it is sent.
#pragma once

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace fsr {

// INVALID_ARGUMENT names the first string field of `request`, at any depth, that is not UTF-8: protobuf sends no other
// text, and the server could only say that it understood nothing.
absl::Status CheckText(const google::protobuf::Message& request);

}  // namespace fsr
