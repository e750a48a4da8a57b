// Whole files, with limits.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fsr {

// The whole file. NOT_FOUND, PERMISSION_DENIED, or RESOURCE_EXHAUSTED if it is larger than `bytes_max`.
absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path, size_t bytes_max);

// The same without the byte order mark that some editors put before UTF-8; a compiler takes it for code.
absl::StatusOr<std::string> ReadTextFile(const std::filesystem::path& path, size_t bytes_max);

// Writes to a temporary file beside `path`, syncs, renames: readers see the old content or the new, never a part.
// Makes the folders above it. RESOURCE_EXHAUSTED on a full disk; the old content then stays.
absl::Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

absl::Status MakeFolders(const std::filesystem::path& path);

// The folder that the running program's file lies in.
std::filesystem::path ProgramFolder();

// Where prompts/ and tasks/ lie: $FSR_DATA_DIR if set, else the first of ProgramFolder()/../share/fsr (a bundle or an
// installation) and the source tree above ProgramFolder() that holds both. NOT_FOUND says what was tried.
absl::StatusOr<std::filesystem::path> DataFolder();

}  // namespace fsr
