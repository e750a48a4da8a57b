// One measurement at a time on a GPU, across all processes of this machine.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace fsr {

// Holds the lock until destroyed; it also goes when the process ends, however it ends.
class GpuLock {
 public:
  // Waits for it. PERMISSION_DENIED if the lock's file belongs to someone who does not share it.
  static absl::StatusOr<std::unique_ptr<GpuLock>> Take(const std::string& uuid);
  ~GpuLock();
  GpuLock(const GpuLock&) = delete;  // owns the descriptor
  GpuLock& operator=(const GpuLock&) = delete;

 private:
  explicit GpuLock(int fd) : fd_(fd) {}
  const int fd_;
};

}  // namespace fsr
