// Where the server listens, and whether it may.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fsr {

// Whether others than this machine can reach an address.
enum class Reach { kLoopback, kNetwork };

struct ListenAddress {
  std::string host;  // without brackets
  int port = 0;      // 0: any free one
  Reach reach = Reach::kNetwork;
  std::string WithPort(int bound) const;  // "127.0.0.1:7070", "[::1]:7070"
};

// "127.0.0.1:0", "[::1]:7070", "localhost:7070", "0.0.0.0:7070". INVALID_ARGUMENT says how it is written.
absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text);

// Why the address cannot be listened on, by trying: FAILED_PRECONDITION if the port is in use, PERMISSION_DENIED, …; OK
// if it can.
absl::Status TryListening(const ListenAddress& address);

}  // namespace fsr
