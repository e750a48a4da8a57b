// A folder of content-addressed files, bounded in size. Several processes may share it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace fsr {

// Safe for concurrent use. Nothing here fails: what cannot be read is a miss, what cannot be written is not kept.
class CacheFolder {
 public:
  // A folder that cannot be made is an empty cache.
  CacheFolder(std::filesystem::path folder, uint64_t bytes_max);

  // The value stored under `key` (a hash in hexadecimal), checked against its own hash; marks it as used.
  std::optional<std::string> Get(const std::string& key);

  // Entries used longest ago make room. A value that is a large part of the whole cache is not kept.
  void Put(const std::string& key, std::string_view value);

 private:
  std::filesystem::path PathOf(const std::string& key) const;
  // Removes the entries used longest ago until kEvictedShare of the room is free, if there are too many bytes.
  void Evict();

  const std::filesystem::path folder_;
  const uint64_t bytes_max_;
  absl::Mutex mutex_;
  uint64_t bytes_since_scan_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fsr
