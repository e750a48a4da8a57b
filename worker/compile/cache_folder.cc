#include "worker/compile/cache_folder.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "common/files.h"
#include "common/hash.h"

namespace fsr {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHashBytes = 64;
constexpr uint64_t kEntryShareMax = 8;  // an entry larger than 1/8 of the cache is not kept
constexpr uint64_t kScanShare = 16;     // the folder is looked through whenever 1/16 of its room was written
constexpr uint64_t kEvictedShare = 10;  // eviction goes on until 1/10 of the room is free

struct Entry {
  fs::path path;
  uint64_t bytes = 0;
  fs::file_time_type used;
};

}  // namespace

CacheFolder::CacheFolder(fs::path folder, uint64_t bytes_max) : folder_(std::move(folder)), bytes_max_(bytes_max) {
  std::error_code error;
  fs::create_directories(folder_, error);
  Evict();
}

// Two levels, so that no folder holds more than a few hundred entries.
fs::path CacheFolder::PathOf(const std::string& key) const { return folder_ / key.substr(0, 2) / key; }

std::optional<std::string> CacheFolder::Get(const std::string& key) {
  const fs::path path = PathOf(key);
  absl::StatusOr<std::string> file = ReadFile(path, bytes_max_);
  if (!file.ok() || file->size() < kHashBytes) return std::nullopt;
  std::string value = file->substr(kHashBytes);
  std::error_code error;
  if (Sha256Hex(value) != std::string_view(*file).substr(0, kHashBytes)) {
    fs::remove(path, error);
    return std::nullopt;
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return value;
}

void CacheFolder::Put(const std::string& key, std::string_view value) {
  const uint64_t bytes = kHashBytes + value.size();
  if (bytes > bytes_max_ / kEntryShareMax) return;
  if (!WriteFileAtomically(PathOf(key), Sha256Hex(value).append(value)).ok()) {
    Evict();  // the disk may be full of what is no longer needed
    return;
  }
  bool scan = false;
  {
    absl::MutexLock lock(&mutex_);
    bytes_since_scan_ += bytes;
    scan = bytes_since_scan_ > bytes_max_ / kScanShare;
    if (scan) bytes_since_scan_ = 0;
  }
  if (scan) Evict();
}

void CacheFolder::Evict() {
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;  // another process may evict at the same time
    if (!it->is_regular_file(gone)) continue;
    Entry entry = {.path = it->path(), .bytes = it->file_size(gone), .used = it->last_write_time(gone)};
    if (gone) continue;
    total += entry.bytes;
    entries.push_back(std::move(entry));
  }
  // Room for what is written until the next scan.
  if (total + bytes_max_ / kScanShare <= bytes_max_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= bytes_max_ - bytes_max_ / kEvictedShare) return;
    fs::remove(entry.path, error);
    total -= entry.bytes;
  }
}

}  // namespace fsr
