#include "common/subprocess.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/time/clock.h"
#include "common/framed_channel.h"
#include "fsr/v1/task.pb.h"

namespace fsr {
namespace {

std::unique_ptr<Subprocess> Shell(const std::string& script, Subprocess::Options options = {}) {
  options.argv = {"/bin/sh", "-c", script};
  auto child = Subprocess::Start(options);
  REQUIRE(child.ok());
  return *std::move(child);
}

// Whether process `pid` goes away (a zombie counts as gone) within five seconds.
bool Vanishes(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string word, state;
    if (!(stat >> word >> word >> state) || state == "Z") return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

// One line that the child wrote to its channel.
std::string ReadLine(int fd) {
  std::string line;
  char c = 0;
  while (read(fd, &c, 1) == 1 && c != '\n') line.push_back(c);
  return line;
}

// A connected pair of stream sockets.
struct Pair {
  Pair() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0); }
  ~Pair() {
    close(fd[0]);
    close(fd[1]);
  }
  int fd[2];
};

TEST_CASE("a child's exit code and its signal are told apart") {
  CHECK(Shell("exit 3")->Wait(absl::Seconds(10))->Describe() == "exited with 3");
  auto killed = Shell("kill -TERM $$")->Wait(absl::Seconds(10));
  REQUIRE(killed.has_value());
  CHECK(killed->signal == SIGTERM);
  CHECK(killed->Describe() == "was killed by signal 15 (Terminated)");
  CHECK(Shell("true")->Wait(absl::Seconds(10))->ok());
}

TEST_CASE("a wait that times out leaves the child running") {
  auto child = Shell("sleep 100");
  CHECK_FALSE(child->Wait(absl::Milliseconds(30)).has_value());
  CHECK(child->Running());
  child->Kill();
  CHECK_FALSE(child->Running());
  CHECK(child->Wait(absl::ZeroDuration())->signal == SIGKILL);
}

TEST_CASE("a program that is missing is said to be") {
  auto by_path = Subprocess::Start({.argv = {"/no/such/program"}});
  CHECK(absl::IsNotFound(by_path.status()));
  auto by_name = Subprocess::Start({.argv = {"no-such-program-anywhere"}});
  CHECK(absl::IsNotFound(by_name.status()));
  auto not_executable = Subprocess::Start({.argv = {"/etc/passwd"}});
  CHECK(absl::IsPermissionDenied(not_executable.status()));
}

TEST_CASE("the environment is ours with additions, or empty") {
  setenv("FSR_TEST_INHERITED", "yes", 1);
  auto inherited = Shell("echo $FSR_TEST_INHERITED $FSR_TEST_ADDED >&3",
                         {.environment = {{"FSR_TEST_ADDED", "too"}}, .connect_channel = true});
  CHECK(ReadLine(inherited->channel_fd()) == "yes too");
  auto cleared = Shell("echo [$FSR_TEST_INHERITED] >&3", {.clear_environment = true, .connect_channel = true});
  CHECK(ReadLine(cleared->channel_fd()) == "[]");
  auto removed =
      Shell("echo [$FSR_TEST_INHERITED] >&3", {.environment = {{"FSR_TEST_INHERITED", ""}}, .connect_channel = true});
  CHECK(ReadLine(removed->channel_fd()) == "[]");
}

TEST_CASE("a child inherits its channel and nothing else that we have open") {
  int leaked = fcntl(STDERR_FILENO, F_DUPFD, 77);  // not close-on-exec, and no number that a shell takes
  auto child = Shell("cd /proc/$$/fd; echo * >&3", {.connect_channel = true});
  CHECK(ReadLine(child->channel_fd()).find(std::to_string(leaked)) == std::string::npos);
  close(leaked);
}

TEST_CASE("killing a child kills what it started") {
  auto child = Shell("sleep 1000 & echo $! >&3; wait", {.connect_channel = true});
  pid_t grandchild = std::stoi(ReadLine(child->channel_fd()));
  child.reset();
  CHECK(Vanishes(grandchild));
}

TEST_CASE("a child that ends by itself leaves no process behind") {
  auto child = Shell("sleep 1000 & echo $! >&3", {.connect_channel = true});
  pid_t grandchild = std::stoi(ReadLine(child->channel_fd()));
  CHECK(child->Wait(absl::Seconds(10)).has_value());
  CHECK(Vanishes(grandchild));
}

TEST_CASE("a child outlives the thread that started it") {
  std::unique_ptr<Subprocess> child;
  std::thread([&] { child = Shell("sleep 1000"); }).join();
  CHECK_FALSE(child->Wait(absl::Milliseconds(100)).has_value());
}

// Run by the next test in a process of its own.
TEST_CASE("start a child and be killed", "[.]") {
  auto child = Subprocess::Start({.argv = {"/bin/sleep", "1000"}});
  pid_t pid = child.ok() ? (*child)->pid() : -1;
  REQUIRE(write(Subprocess::kChannelFd, &pid, sizeof pid) == sizeof pid);
  kill(getpid(), SIGKILL);
}

TEST_CASE("a child dies with its parent, even if that is killed") {
  auto parent = Subprocess::Start(
      {.argv = {"/proc/self/exe", "start a child and be killed"}, .connect_channel = true, .stdout_path = "/dev/null"});
  REQUIRE(parent.ok());
  pid_t grandchild = -1;
  REQUIRE(read((*parent)->channel_fd(), &grandchild, sizeof grandchild) == sizeof grandchild);
  REQUIRE(grandchild > 0);
  CHECK(Vanishes(grandchild));
}

TEST_CASE("a child beyond its CPU, file or memory limit does not go on") {
  auto spinning = Shell("while :; do :; done", {.cpu_seconds_max = 1});
  auto ended = spinning->Wait(absl::Seconds(30));
  REQUIRE(ended.has_value());
  CHECK((ended->signal == SIGXCPU || ended->signal == SIGKILL));

  const auto path = std::filesystem::temp_directory_path() / ("fsr_subprocess_" + std::to_string(getpid()));
  auto writing = Shell("while :; do echo 0123456789; done",
                       {.stdout_path = path.string(), .file_bytes_max = 4096, .no_core_dump = true});
  CHECK(writing->Wait(absl::Seconds(30)).has_value());
  CHECK(std::filesystem::file_size(path) == 4096);
  std::filesystem::remove(path);

  auto large = Shell("x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo ${#x}",
                     {.stdout_path = "/dev/null", .stderr_path = "/dev/null", .address_space_bytes_max = 64 << 20});
  CHECK_FALSE(large->Wait(absl::Seconds(60))->ok());
}

TEST_CASE("messages come through a channel whole and in order") {
  Pair pair;
  v1::Task large;
  large.set_name("large");
  large.set_oracle_source(std::string(3'000'000, 'x'));  // more than a socket's buffer holds
  std::thread writer([&] {
    v1::Task small;
    small.set_name("small");
    CHECK(WriteFramed(pair.fd[0], small).ok());
    CHECK(WriteFramed(pair.fd[0], v1::Task()).ok());
    CHECK(WriteFramed(pair.fd[0], large).ok());
  });
  v1::Task got;
  REQUIRE(ReadFramed(pair.fd[1], absl::Seconds(10), &got).ok());
  CHECK(got.name() == "small");
  REQUIRE(ReadFramed(pair.fd[1], absl::Seconds(10), &got).ok());
  CHECK(got.name().empty());
  REQUIRE(ReadFramed(pair.fd[1], absl::Seconds(10), &got).ok());
  writer.join();
  CHECK(got.oracle_source() == large.oracle_source());
}

TEST_CASE("a channel without a message, with a closed end, or with noise says which") {
  Pair pair;
  v1::Task got;
  CHECK(absl::IsDeadlineExceeded(ReadFramed(pair.fd[1], absl::Milliseconds(20), &got)));
  const char too_long[] = {'\0', '\0', '\0', '\x7f'};
  REQUIRE(write(pair.fd[0], too_long, sizeof too_long) == sizeof too_long);
  CHECK(absl::IsDataLoss(ReadFramed(pair.fd[1], absl::Seconds(1), &got)));
  const char no_message[] = {'\x02', '\0', '\0', '\0', '\x0f', '\x0f'};
  REQUIRE(write(pair.fd[0], no_message, sizeof no_message) == sizeof no_message);
  CHECK(absl::IsDataLoss(ReadFramed(pair.fd[1], absl::Seconds(1), &got)));

  Pair cut;
  REQUIRE(write(cut.fd[0], no_message, 5) == 5);
  shutdown(cut.fd[0], SHUT_RDWR);
  CHECK(absl::IsUnavailable(ReadFramed(cut.fd[1], absl::Seconds(1), &got)));
  CHECK(absl::IsUnavailable(WriteFramed(cut.fd[1], v1::Task())));
}

}  // namespace
}  // namespace fsr
