#include "server/api/listen_address.h"

#include <absl/strings/numbers.h>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "common/status.h"

namespace fsr {
namespace {

constexpr int kPortMax = 65535;
constexpr char kHowItIsWritten[] = "write it like 127.0.0.1:7070, [::1]:7070 or localhost:0 (any free port)";

Reach ReachOf(const std::string& host) {
  in_addr v4;
  in6_addr v6;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return (ntohl(v4.s_addr) >> 24) == IN_LOOPBACKNET ? Reach::kLoopback : Reach::kNetwork;
  }
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6) ? Reach::kLoopback : Reach::kNetwork;
  }
  return host == "localhost" ? Reach::kLoopback : Reach::kNetwork;
}

absl::Status BindError(int error, const ListenAddress& address) {
  const std::string where = address.WithPort(address.port);
  switch (error) {
    case EADDRINUSE:
      return absl::FailedPreconditionError(fmt::format(
          "port {} is in use: another program listens on {}; end it, or name another port (0 takes a free one)",
          address.port, where));
    case EACCES:
      return absl::PermissionDeniedError(
          fmt::format("this user may not listen on {}: name a port from 1024 on", where));
    case EADDRNOTAVAIL:
      return absl::FailedPreconditionError(fmt::format("{} is no address of this machine", where));
    default:
      return ErrnoStatus(error, fmt::format("cannot listen on {}", where));
  }
}

}  // namespace

std::string ListenAddress::WithPort(int bound) const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, bound) : fmt::format("[{}]:{}", host, bound);
}

absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  ListenAddress address;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &address.port) || address.port < 0 ||
      address.port > kPortMax) {
    return absl::InvalidArgumentError(
        fmt::format("\"{}\" names no address with a port from 0 to {}: {}", text, kPortMax, kHowItIsWritten));
  }
  address.host = text.substr(0, colon);
  if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.empty() || address.host.find_first_of(":[]/") != std::string::npos) {
    return absl::InvalidArgumentError(fmt::format("\"{}\" is no address: {}", text, kHowItIsWritten));
  }
  address.reach = ReachOf(address.host);
  return address;
}

absl::Status TryListening(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
      error != 0) {
    return absl::InvalidArgumentError(fmt::format("the host \"{}\" is unknown: {}", address.host, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return ErrnoStatus(errno, "cannot open a socket");
  // As the server does: a connection of the past that is not quite closed yet is no hindrance.
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const int error = bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 1) == 0 ? 0 : errno;
  close(fd);
  return error == 0 ? absl::OkStatus() : BindError(error, address);
}

}  // namespace fsr
