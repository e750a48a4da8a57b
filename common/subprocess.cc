#include "common/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <functional>
#include <future>
#include <string_view>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"

extern char** environ;

namespace fsr {
namespace {

// Between two looks at a child where the kernel offers no file descriptor for processes.
constexpr absl::Duration kPollInterval = absl::Milliseconds(5);

// A file descriptor closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void Reset(int fd) {
    Close();
    fd_ = fd;
  }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// "Dies with its parent" is, in Linux, "dies with the thread that forked it". So one thread that never ends forks them.
pid_t ForkOnLastingThread(const std::function<void()>& in_child) {
  struct Spawner {
    absl::Mutex mutex;
    const std::function<void()>* work ABSL_GUARDED_BY(mutex) = nullptr;
    std::promise<pid_t>* result ABSL_GUARDED_BY(mutex) = nullptr;
    bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return work != nullptr; }
    bool IsFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return work == nullptr; }
    void Loop() {
      for (;;) {
        absl::MutexLock lock(&mutex, absl::Condition(this, &Spawner::HasWork));
        pid_t pid = _Fork();
        if (pid == 0) (*work)();
        std::exchange(result, nullptr)->set_value(pid < 0 ? -errno : pid);
        work = nullptr;
      }
    }
  };
  static Spawner* spawner = [] {
    auto* made = new Spawner;
    std::thread([made] { made->Loop(); }).detach();
    return made;
  }();
  std::promise<pid_t> result;
  std::future<pid_t> pid = result.get_future();
  {
    absl::MutexLock lock(&spawner->mutex, absl::Condition(spawner, &Spawner::IsFree));
    spawner->work = &in_child;
    spawner->result = &result;
  }
  return pid.get();
}

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  auto missing = [&](std::string_view why) {
    return absl::NotFoundError(fmt::format("There is no program \"{}\"{}.", name, why));
  };
  if (name.empty()) return absl::InvalidArgumentError("A child process needs a program to run.");
  if (name.find('/') != std::string::npos) {
    // Absolute, so that working_folder does not change which file is meant.
    char resolved[PATH_MAX];
    if (access(name.c_str(), F_OK) != 0 || realpath(name.c_str(), resolved) == nullptr) return missing("");
    return std::string(resolved);
  }
  const char* path = getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  while (!rest.empty()) {
    std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return missing(" in PATH");
}

std::vector<std::string> BuildEnvironment(const Subprocess::Options& options) {
  std::map<std::string, std::string> variables;
  for (char** entry = options.clear_environment ? nullptr : environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const auto& [name, value] : options.environment) {
    if (value.empty()) {
      variables.erase(name);
    } else {
      variables[name] = value;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What the child does between fork and exec. Everything it needs is made before the fork: after it, only
// async-signal-safe calls are allowed.
struct ChildSetup {
  const Subprocess::Options& options;
  const char* program;
  char* const* argv;
  char* const* environment;
  int channel;  // -1: none
  int error_pipe;
  pid_t parent;

  [[noreturn]] void Fail() const {
    int error = errno;
    // Nothing better can be done if even this fails; the exit code then tells that the start failed.
    [[maybe_unused]] ssize_t written = write(error_pipe, &error, sizeof error);
    _exit(127);
  }

  void Limit(__rlimit_resource resource, uint64_t most) const {
    rlimit limit = {.rlim_cur = most, .rlim_max = most};
    if (setrlimit(resource, &limit) != 0) Fail();
  }

  void Redirect(const char* path, int flags, int target) const {
    int fd = open(path, flags | O_CLOEXEC, 0644);
    if (fd < 0 || dup2(fd, target) < 0) Fail();
  }

  void ResetSignals() const {
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
  }

  [[noreturn]] void Run() const {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);  // it died before the line above
    ResetSignals();
    if (channel >= 0 && dup2(channel, Subprocess::kChannelFd) < 0) Fail();
    close_range(channel >= 0 ? Subprocess::kChannelFd + 1 : 3, ~0U, CLOSE_RANGE_CLOEXEC);
    Redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    constexpr int kWrite = O_WRONLY | O_CREAT | O_APPEND;
    if (!options.stdout_path.empty()) Redirect(options.stdout_path.c_str(), kWrite, STDOUT_FILENO);
    if (!options.stderr_path.empty()) Redirect(options.stderr_path.c_str(), kWrite, STDERR_FILENO);
    if (!options.working_folder.empty() && chdir(options.working_folder.c_str()) != 0) Fail();
    if (options.no_core_dump) Limit(RLIMIT_CORE, 0);
    if (options.cpu_seconds_max > 0) Limit(RLIMIT_CPU, options.cpu_seconds_max);
    if (options.file_bytes_max > 0) Limit(RLIMIT_FSIZE, options.file_bytes_max);
    if (options.address_space_bytes_max > 0) Limit(RLIMIT_AS, options.address_space_bytes_max);
    execve(program, argv, environment);
    Fail();
  }
};

// Moves a descriptor above those the child gives a meaning to.
absl::Status MoveUp(Descriptor& descriptor) {
  int moved = fcntl(descriptor.get(), F_DUPFD_CLOEXEC, Subprocess::kChannelFd + 7);
  if (moved < 0) return ErrnoStatus(errno, "making a pipe to a child process");
  descriptor.Reset(moved);
  return absl::OkStatus();
}

}  // namespace

std::string ExitStatus::Describe() const {
  if (signal == 0) return fmt::format("exited with {}", code);
  return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
}

absl::StatusOr<std::unique_ptr<Subprocess>> Subprocess::Start(const Options& options) {
  if (options.argv.empty()) return absl::InvalidArgumentError("A child process needs a program to run.");
  ASSIGN_OR_RETURN(const std::string program, FindProgram(options.argv.front()));
  std::vector<std::string> arguments = options.argv;
  std::vector<std::string> variables = BuildEnvironment(options);
  std::vector<char*> argv = Pointers(arguments);
  std::vector<char*> environment = Pointers(variables);

  Descriptor ours, theirs, error_read, error_write;
  if (options.connect_channel) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      return ErrnoStatus(errno, "making a channel to a child process");
    }
    ours.Reset(pair[0]);
    theirs.Reset(pair[1]);
    RETURN_IF_ERROR(MoveUp(theirs));
  }
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "making a pipe to a child process");
  error_read.Reset(pipe_ends[0]);
  error_write.Reset(pipe_ends[1]);
  RETURN_IF_ERROR(MoveUp(error_write));

  const ChildSetup setup = {options,      program.c_str(),   argv.data(), environment.data(),
                            theirs.get(), error_write.get(), getpid()};
  const pid_t pid = ForkOnLastingThread([&setup] { setup.Run(); });
  if (pid < 0) return ErrnoStatus(-pid, fmt::format("starting {}", program));
  setpgid(pid, pid);  // also here, so that a signal sent at once reaches the group; fails if exec was faster
  error_write.Close();
  theirs.Close();

  int error = 0;
  ssize_t got;
  do {
    got = read(error_read.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  auto child = std::unique_ptr<Subprocess>(new Subprocess(pid, ours.Release()));
  if (got == sizeof error) return ErrnoStatus(error, fmt::format("starting {}", program));
  return child;
}

Subprocess::~Subprocess() {
  Kill();
  if (channel_fd_ >= 0) close(channel_fd_);
}

std::optional<ExitStatus> Subprocess::Wait(absl::Duration timeout) {
  if (ended_) return ended_;
  const absl::Time deadline = absl::Now() + timeout;
  // Not pidfd_open(): the header of glibc 2.36 declares it without C linkage.
  Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  for (;;) {
    siginfo_t info = {};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_) break;
    absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return std::nullopt;
    if (process.get() < 0) left = std::min(left, kPollInterval);
    pollfd entry = {.fd = process.get(), .events = POLLIN, .revents = 0};
    int64_t milliseconds = absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)));
    poll(&entry, 1, static_cast<int>(std::min<int64_t>(milliseconds, INT_MAX)));
  }
  // Before it is reaped its number cannot be given to another group, so only its own leftovers are hit.
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ended_ = WIFSIGNALED(status) ? ExitStatus{.code = 0, .signal = WTERMSIG(status)}
                               : ExitStatus{.code = WEXITSTATUS(status), .signal = 0};
  return ended_;
}

void Subprocess::Signal(int signal) {
  if (!ended_) kill(-pid_, signal);
}

void Subprocess::Kill() {
  Signal(SIGKILL);
  Wait(absl::InfiniteDuration());
}

}  // namespace fsr
