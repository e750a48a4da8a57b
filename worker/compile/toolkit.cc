#include "worker/compile/toolkit.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "common/files.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace fsr {
namespace {

namespace fs = std::filesystem;

// The newest first.
constexpr std::string_view kLibraryNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

std::vector<fs::path> Roots() {
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') roots.emplace_back(value);
  }
  roots.push_back(ProgramFolder().parent_path());
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

// The headers of the toolkit that the library is part of, or else of the first toolkit that has some.
std::vector<std::string> IncludeFolders(const fs::path& library) {
  std::vector<fs::path> candidates = {library.parent_path().parent_path() / "include"};
  for (const fs::path& root : Roots()) {
    candidates.push_back(root / "include");
    candidates.push_back(root / "targets/x86_64-linux/include");
  }
  candidates.emplace_back("/usr/include");  // Debian's package
  std::error_code error;
  for (const fs::path& folder : candidates) {
    if (!fs::exists(folder / "cuda_fp16.h", error)) continue;
    std::vector<std::string> found = {folder.string()};
    if (fs::exists(folder / "cccl", error)) found.push_back((folder / "cccl").string());
    return found;
  }
  return {};
}

}  // namespace

std::vector<std::string> ToolkitLibraryFolders() {
  std::vector<std::string> folders;
  for (const fs::path& root : Roots()) {
    for (const char* below : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"}) {
      folders.push_back((root / below).string());
    }
  }
  const char* loader_path = std::getenv("LD_LIBRARY_PATH");
  std::string_view rest = loader_path == nullptr ? "" : loader_path;
  while (!rest.empty()) {
    std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (!folder.empty()) folders.emplace_back(folder);
  }
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"}) folders.emplace_back(folder);
  return folders;
}

absl::StatusOr<Toolkit> FindToolkit() {
  const std::vector<std::string> folders = ToolkitLibraryFolders();
  for (std::string_view name : kLibraryNames) {
    for (const fs::path folder : folders) {
      std::error_code error;
      const fs::path library = fs::canonical(folder / name, error);
      if (error) continue;
      const auto bytes = fs::file_size(library, error);
      const auto written = fs::last_write_time(library, error).time_since_epoch().count();
      return Toolkit{.nvrtc_path = (folder / name).string(),
                     .include_folders = IncludeFolders(folder / name),
                     .fingerprint = fmt::format("{} {} {}", library.string(), bytes, written)};
    }
  }
  return absl::UnavailableError(
      fmt::format("There is no {} or {} on this machine, so no kernel can be compiled. Install the CUDA Toolkit 13 (or "
                  "its NVRTC package alone) or set CUDA_HOME to where it lies. Looked in: {}.",
                  kLibraryNames[0], kLibraryNames[1], fmt::join(folders, ", ")));
}

}  // namespace fsr
