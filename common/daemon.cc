#include "common/daemon.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "common/status.h"

namespace fsr {

sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

absl::Status DieWithParent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return ErrnoStatus(errno, "asking to end with the parent process");
  if (getppid() != parent) return absl::CancelledError("The process that started this one has ended already.");
  return absl::OkStatus();
}

}  // namespace fsr
