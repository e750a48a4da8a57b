#include "common/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "common/random.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"

namespace fsr {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kReadChunkBytes = 64 * 1024;

absl::Status WriteAll(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, fmt::format("cannot write {}", path.string()));
    content.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(fd) != 0) return ErrnoStatus(errno, fmt::format("cannot sync {}", path.string()));
  return absl::OkStatus();
}

// So that the rename itself survives a power cut. Best effort: some file systems refuse to sync a folder.
void SyncFolder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

bool HoldsData(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder / "prompts", ignored) && fs::is_directory(folder / "tasks", ignored);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const fs::path& path, size_t bytes_max) {
  const std::string what = fmt::format("cannot read {}", path.string());
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, what);
  const auto closer = absl::MakeCleanup([fd] { ::close(fd); });
  struct stat info {};
  if (::fstat(fd, &info) != 0) return ErrnoStatus(errno, what);
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError(fmt::format("{}: it is a folder", what));

  // The size that fstat gives is not trusted: pipes and /proc have none, and files grow.
  std::string content;
  while (true) {
    const size_t had = content.size();
    content.resize(had + kReadChunkBytes);
    const ssize_t got = ::read(fd, content.data() + had, kReadChunkBytes);
    const int error = errno;
    content.resize(had + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < 0 && error == EINTR) continue;
    if (got < 0) return ErrnoStatus(error, what);
    if (got == 0) return content;
    if (content.size() > bytes_max) {
      return absl::ResourceExhaustedError(fmt::format("{}: it is larger than the {} bytes allowed", what, bytes_max));
    }
  }
}

absl::StatusOr<std::string> ReadTextFile(const fs::path& path, size_t bytes_max) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(path, bytes_max));
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

absl::Status WriteFileAtomically(const fs::path& path, std::string_view content) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  RETURN_IF_ERROR(MakeFolders(folder));
  const fs::path temporary = folder / fmt::format(".{}.{}.tmp", path.filename().string(), RandomHex(8));
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return ErrnoStatus(errno, fmt::format("cannot create {}", temporary.string()));
  absl::Status status = WriteAll(fd, content, path);
  if (::close(fd) != 0 && status.ok()) status = ErrnoStatus(errno, fmt::format("cannot close {}", path.string()));
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, fmt::format("cannot replace {}", path.string()));
  }
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  SyncFolder(folder);
  return absl::OkStatus();
}

absl::Status MakeFolders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return ErrnoStatus(error.value(), fmt::format("cannot make the folder {}", path.string()));
}

fs::path ProgramFolder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::current_path(error) : program.parent_path();
}

absl::StatusOr<fs::path> DataFolder() {
  if (const char* set = std::getenv("FSR_DATA_DIR"); set != nullptr && *set != '\0') {
    if (HoldsData(set)) return fs::path(set);
    return absl::NotFoundError(
        fmt::format("FSR_DATA_DIR is {}, but that folder does not hold prompts/ and tasks/; correct or unset it", set));
  }
  const fs::path program = ProgramFolder();
  const fs::path installed = (program / ".." / "share" / "fsr").lexically_normal();
  if (HoldsData(installed)) return installed;
  for (fs::path folder = program; folder != folder.root_path(); folder = folder.parent_path()) {
    if (HoldsData(folder)) return folder;
  }
  return absl::NotFoundError(
      fmt::format("found no folder that holds prompts/ and tasks/: tried {} and the folders above {}; set FSR_DATA_DIR",
                  installed.string(), program.string()));
}

}  // namespace fsr
