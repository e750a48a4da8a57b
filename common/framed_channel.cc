#include "common/framed_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <span>
#include <string>

#include "absl/time/clock.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"

namespace fsr {
namespace {

// How long the other side may take over one frame once its first byte was sent, in either direction.
constexpr absl::Duration kFrameTransferMax = absl::Minutes(1);
constexpr size_t kLengthBytes = 4;

absl::Status Gone() { return absl::UnavailableError("The process at the other end of the channel is gone."); }

int PollMilliseconds(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) return -1;
  // Rounded up, so that the wait does not spin through its last millisecond.
  int64_t left = absl::ToInt64Milliseconds(absl::Ceil(deadline - absl::Now(), absl::Milliseconds(1)));
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

// Waits until `fd` is ready for `events`, or its other side is gone.
absl::Status Await(int fd, short events, absl::Time deadline) {
  for (;;) {
    pollfd entry = {.fd = fd, .events = events, .revents = 0};
    int ready = poll(&entry, 1, PollMilliseconds(deadline));
    if (ready > 0) return (entry.revents & POLLNVAL) ? Gone() : absl::OkStatus();
    if (ready == 0 && absl::Now() >= deadline) return absl::DeadlineExceededError("No message came in time.");
    if (ready < 0 && errno != EINTR) return ErrnoStatus(errno, "waiting on a channel");
  }
}

absl::Status Send(int fd, std::span<const char> bytes, absl::Time deadline) {
  while (!bytes.empty()) {
    RETURN_IF_ERROR(Await(fd, POLLOUT, deadline));
    ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return Gone();
    } else if (errno != EINTR && errno != EAGAIN) {
      return ErrnoStatus(errno, "writing to a channel");
    }
  }
  return absl::OkStatus();
}

absl::Status Receive(int fd, std::span<char> bytes, absl::Time deadline) {
  while (!bytes.empty()) {
    RETURN_IF_ERROR(Await(fd, POLLIN, deadline));
    ssize_t got = recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<size_t>(got));
    } else if (got == 0 || errno == ECONNRESET) {
      return Gone();
    } else if (errno != EINTR && errno != EAGAIN) {
      return ErrnoStatus(errno, "reading from a channel");
    }
  }
  return absl::OkStatus();
}

// After a first byte the frame must come whole: a deadline in its middle leaves no way to find the next one.
absl::Status ReceiveRest(int fd, std::span<char> bytes) {
  absl::Status status = Receive(fd, bytes, absl::Now() + kFrameTransferMax);
  return absl::IsDeadlineExceeded(status) ? absl::DataLossError("A message stopped half-way.") : status;
}

}  // namespace

absl::Status WriteFramed(int fd, const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  if (size > kFramedMessageBytesMax) {
    return absl::ResourceExhaustedError(
        fmt::format("A message of {} bytes is more than a channel carries ({}).", size, kFramedMessageBytesMax));
  }
  std::string frame(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i) frame[i] = static_cast<char>(size >> (8 * i) & 0xff);
  if (!message.AppendToString(&frame)) return absl::InternalError("A message could not be serialised.");
  return Send(fd, frame, absl::Now() + kFrameTransferMax);
}

absl::Status ReadFramed(int fd, absl::Duration timeout, google::protobuf::MessageLite* message) {
  std::array<char, kLengthBytes> length{};
  RETURN_IF_ERROR(Receive(fd, std::span(length).first(1), absl::Now() + timeout));
  RETURN_IF_ERROR(ReceiveRest(fd, std::span(length).subspan(1)));
  uint32_t size = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) size |= uint32_t{static_cast<unsigned char>(length[i])} << (8 * i);
  if (size > kFramedMessageBytesMax) {
    return absl::DataLossError(fmt::format("A channel announced a message of {} bytes; at most {} are accepted.", size,
                                           kFramedMessageBytesMax));
  }
  std::string body(size, '\0');
  RETURN_IF_ERROR(ReceiveRest(fd, body));
  if (!message->ParseFromString(body)) {
    return absl::DataLossError(fmt::format("{} bytes on a channel are no {}.", size, message->GetTypeName()));
  }
  return absl::OkStatus();
}

}  // namespace fsr
