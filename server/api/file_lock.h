// One server a database: a lock on a file beside it, which the kernel gives up with the process, however that ends.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace fsr {

class FileLock {
 public:
  // ALREADY_EXISTS if another process holds it; the message ends in who that is.
  static absl::StatusOr<std::unique_ptr<FileLock>> Take(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;  // owns the descriptor
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  const int fd_;
};

}  // namespace fsr
