// Protobuf messages over a stream socket, each preceded by its length: how a worker talks to its children.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "google/protobuf/message_lite.h"

namespace fsr {

// The largest message either side accepts.
inline constexpr uint32_t kFramedMessageBytesMax = 256u << 20;

// UNAVAILABLE if the other side is gone.
absl::Status WriteFramed(int fd, const google::protobuf::MessageLite& message);

// DEADLINE_EXCEEDED after `timeout`, UNAVAILABLE if the other side is gone, DATA_LOSS for what is no message.
absl::Status ReadFramed(int fd, absl::Duration timeout, google::protobuf::MessageLite* message);

}  // namespace fsr
