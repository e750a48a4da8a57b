// A child process: argument vector, own process group, killed and reaped by the destructor, dies with its parent.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fsr {

// How a child ended.
struct ExitStatus {
  int code = 0;    // of exit(); meaningless if `signal` is set
  int signal = 0;  // that killed it; 0 if it exited
  bool ok() const { return code == 0 && signal == 0; }
  // "exited with 3", "was killed by signal 9 (Killed)".
  std::string Describe() const;
};

// Not safe for concurrent use; not for use in a process forked without exec. Neither copied nor moved: the destructor
// owns the process.
//
// Usage:
//   ASSIGN_OR_RETURN(auto child, Subprocess::Start({.argv = {"/bin/cat"}, .connect_channel = true}));
//   ... read and write child->channel_fd() ...
//   std::optional<ExitStatus> ended = child->Wait(absl::Seconds(1));
//   if (!ended) child->Kill();
class Subprocess {
 public:
  struct Options {
    std::vector<std::string> argv = {};                   // argv[0] is a path, or a name looked up in PATH
    std::map<std::string, std::string> environment = {};  // added to ours; an empty value removes the name
    bool clear_environment = false;                       // start from an empty environment instead of ours
    // A stream socket pair: the child finds its end as file descriptor kChannelFd, the parent has channel_fd().
    bool connect_channel = false;
    std::string stdout_path = {};  // empty: inherited; "/dev/null" works
    std::string stderr_path = {};
    std::string working_folder = {};       // empty: ours
    uint64_t address_space_bytes_max = 0;  // RLIMIT_AS; 0: no limit (needed for CUDA)
    uint64_t cpu_seconds_max = 0;          // RLIMIT_CPU; 0: no limit
    uint64_t file_bytes_max = 0;           // RLIMIT_FSIZE; 0: no limit
    bool no_core_dump = true;
  };
  static constexpr int kChannelFd = 3;

  // NOT_FOUND if the program is missing, otherwise what fork or exec said.
  static absl::StatusOr<std::unique_ptr<Subprocess>> Start(const Options& options);

  // Kills the whole process group and reaps the child.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }
  int channel_fd() const { return channel_fd_; }  // -1 without connect_channel

  // Waits until it ends or `timeout` has passed (absl::InfiniteDuration() for ever). nullopt: still running.
  std::optional<ExitStatus> Wait(absl::Duration timeout);
  bool Running() { return !Wait(absl::ZeroDuration()).has_value(); }
  void Signal(int signal);  // to the whole group
  void Kill();              // SIGKILL to the group, and reap

 private:
  Subprocess(pid_t pid, int channel_fd) : pid_(pid), channel_fd_(channel_fd) {}
  pid_t pid_;
  int channel_fd_;
  std::optional<ExitStatus> ended_;
};

}  // namespace fsr
