// How much the server takes and does at once.
#pragma once

#include "absl/time/time.h"

namespace fsr {

// A request may carry a task with three sources, or a whole recording.
inline constexpr int kRequestBytesMax = 32 << 20;
// A dialogue of a long job is the largest answer.
inline constexpr int kResponseBytesMax = 64 << 20;
// Calls of WatchJob and Evaluate that wait at the same time: each holds a thread.
inline constexpr int kWaitingCallsMax = 256;
// Long polls and waiting calls leave enough threads for calls that answer at once.
inline constexpr int kThreadsMax = 1024;
// Events read at once for a stream.
inline constexpr int kEventsPerRead = 64;
// How soon a waiting call notices that its client has gone.
inline constexpr absl::Duration kClientCheckInterval = absl::Seconds(1);
// A client whose machine has vanished is found out by pings; clients may send some, too.
inline constexpr absl::Duration kKeepaliveInterval = absl::Seconds(30);
inline constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(10);
inline constexpr absl::Duration kClientPingIntervalMin = absl::Seconds(5);
// How long calls that answer at once may take to end when the server stops. gRPC waits as long for idle clients, too,
// which confirm the end of a connection only every few seconds.
inline constexpr absl::Duration kStopGrace = absl::Seconds(1);

}  // namespace fsr
