#include "worker/meter/gpu_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/status.h"

namespace fsr {

absl::StatusOr<std::unique_ptr<GpuLock>> GpuLock::Take(const std::string& uuid) {
  // In /tmp, since workers of several users may share the machine.
  const std::string path = fmt::format("/tmp/fsr-{}.lock", uuid);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return ErrnoStatus(errno, fmt::format("opening the GPU's lock {}", path));
  fchmod(fd, 0666);  // whatever the umask; fails, without harm, if the file is another user's
  while (flock(fd, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    const absl::Status status = ErrnoStatus(errno, fmt::format("waiting for the GPU's lock {}", path));
    close(fd);
    return status;
  }
  return std::unique_ptr<GpuLock>(new GpuLock(fd));
}

GpuLock::~GpuLock() { close(fd_); }

}  // namespace fsr
