#include "server/api/listen_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "common/status.h"

namespace fsr {
namespace {

Reach ReachOfText(const std::string& text) {
  auto address = ParseListenAddress(text);
  INFO(text << ": " << address.status());
  REQUIRE(address.ok());
  return address->reach;
}

}  // namespace

TEST_CASE("addresses that only this machine reaches are told from others") {
  for (const char* text : {"127.0.0.1:0", "127.1.2.3:7070", "[::1]:7070", "localhost:65535"}) {
    CHECK(ReachOfText(text) == Reach::kLoopback);
  }
  for (const char* text : {"0.0.0.0:0", "[::]:0", "192.168.1.4:7070", "gpu-host:7070", "128.0.0.1:1",
                           "[::ffff:10.0.0.1]:5", "localhost.example.com:80"}) {
    CHECK(ReachOfText(text) == Reach::kNetwork);
  }
}

TEST_CASE("what is no address is refused with how one is written") {
  for (const char* text : {"", "7070", "127.0.0.1", ":7070", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
                           "127.0.0.1:-1", "::1:7070", "[::1:7070", "http://127.0.0.1:7070"}) {
    INFO(text);
    const absl::Status status = ParseListenAddress(text).status();
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(MessageOf(status), Catch::Contains("127.0.0.1:7070"));
  }
}

TEST_CASE("an IPv6 host is written in brackets") {
  CHECK(ParseListenAddress("[::1]:0").value().WithPort(7070) == "[::1]:7070");
  CHECK(ParseListenAddress("127.0.0.1:0").value().WithPort(7070) == "127.0.0.1:7070");
}

TEST_CASE("a port in use is said to be in use") {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0);
  REQUIRE(listen(fd, 1) == 0);
  socklen_t length = sizeof(name);
  REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) == 0);
  const ListenAddress address{"127.0.0.1", ntohs(name.sin_port), Reach::kLoopback};
  const absl::Status taken = TryListening(address);
  CHECK(taken.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(taken), Catch::Contains(std::to_string(address.port) + " is in use"));
  close(fd);
  CHECK(TryListening(address).ok());
}

TEST_CASE("an address of another machine is said to be none of this one") {
  const absl::Status status = TryListening({"192.0.2.1", 7070, Reach::kNetwork});  // a documentation address
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(status), Catch::Contains("no address of this machine"));
}

}  // namespace fsr
