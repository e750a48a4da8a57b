#include "server/api/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "common/files.h"
#include "common/status.h"
#include "common/status_macros.h"

namespace fsr {
namespace {

constexpr size_t kOwnerBytesMax = 64;

std::string ReadOwner(int fd) {
  char text[kOwnerBytesMax];
  const ssize_t length = pread(fd, text, sizeof(text), 0);
  return length > 0 ? std::string(text, static_cast<size_t>(length)) : "unknown";
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileLock>> FileLock::Take(const std::filesystem::path& path) {
  if (path.has_parent_path()) RETURN_IF_ERROR(MakeFolders(path.parent_path()));
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, fmt::format("cannot open the lock file {}", path.string()));
  std::unique_ptr<FileLock> lock(new FileLock(fd));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, fmt::format("cannot lock {}", path.string()));
    return absl::AlreadyExistsError(fmt::format("it is held by process {}", ReadOwner(fd)));
  }
  const std::string owner = std::to_string(getpid());
  if (ftruncate(fd, 0) != 0 || pwrite(fd, owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
    return ErrnoStatus(errno, fmt::format("cannot write {}", path.string()));
  }
  return lock;
}

FileLock::~FileLock() { close(fd_); }

}  // namespace fsr
