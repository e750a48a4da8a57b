#include "worker/profile/cupti_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "common/symbol_loader.h"
#include "worker/compile/toolkit.h"

namespace fsr::cupti {
namespace {

namespace fs = std::filesystem;

// Structures and metric names are those of CUDA 13.
constexpr char kLibraryName[] = "libcupti.so.13";

std::string FindAll(void* handle, Library& l) {
  SymbolLoader loader(handle);
  loader.Find("cuptiGetResultString", &l.GetResultString);
  loader.Find("cuptiDeviceGetChipName", &l.DeviceGetChipName);
  loader.Find("cuptiProfilerInitialize", &l.ProfilerInitialize);
  loader.Find("cuptiProfilerDeviceSupported", &l.ProfilerDeviceSupported);
  loader.Find("cuptiProfilerGetCounterAvailability", &l.ProfilerGetCounterAvailability);
  loader.Find("cuptiProfilerHostInitialize", &l.HostInitialize);
  loader.Find("cuptiProfilerHostDeinitialize", &l.HostDeinitialize);
  loader.Find("cuptiProfilerHostGetMetricProperties", &l.HostGetMetricProperties);
  loader.Find("cuptiProfilerHostConfigAddMetrics", &l.HostConfigAddMetrics);
  loader.Find("cuptiProfilerHostGetConfigImageSize", &l.HostGetConfigImageSize);
  loader.Find("cuptiProfilerHostGetConfigImage", &l.HostGetConfigImage);
  loader.Find("cuptiProfilerHostGetNumOfPasses", &l.HostGetNumOfPasses);
  loader.Find("cuptiProfilerHostEvaluateToGpuValues", &l.HostEvaluateToGpuValues);
  loader.Find("cuptiRangeProfilerEnable", &l.RangeEnable);
  loader.Find("cuptiRangeProfilerDisable", &l.RangeDisable);
  loader.Find("cuptiRangeProfilerSetConfig", &l.RangeSetConfig);
  loader.Find("cuptiRangeProfilerStart", &l.RangeStart);
  loader.Find("cuptiRangeProfilerStop", &l.RangeStop);
  loader.Find("cuptiRangeProfilerPushRange", &l.RangePush);
  loader.Find("cuptiRangeProfilerPopRange", &l.RangePop);
  loader.Find("cuptiRangeProfilerDecodeData", &l.RangeDecodeData);
  loader.Find("cuptiRangeProfilerGetCounterDataSize", &l.RangeGetCounterDataSize);
  loader.Find("cuptiRangeProfilerCounterDataImageInitialize", &l.RangeCounterDataImageInitialize);
  loader.Find("cuptiActivityRegisterCallbacks", &l.ActivityRegisterCallbacks);
  loader.Find("cuptiActivityEnable", &l.ActivityEnable);
  loader.Find("cuptiActivityDisable", &l.ActivityDisable);
  loader.Find("cuptiActivityFlushAll", &l.ActivityFlushAll);
  loader.Find("cuptiActivityGetNextRecord", &l.ActivityGetNextRecord);
  return loader.missing();
}

absl::StatusOr<const Library*> Open() {
  std::vector<std::string> tried;
  for (const std::string& folder : ToolkitLibraryFolders()) {
    // Of old, and in some packages still, CUPTI lies apart from the other libraries.
    for (const fs::path& candidate : {fs::path(folder), fs::path(folder) / "../extras/CUPTI/lib64"}) {
      std::error_code error;
      const fs::path path = candidate / kLibraryName;
      if (fs::exists(path, error)) tried.push_back(path.string());
    }
  }
  tried.emplace_back(kLibraryName);  // the loader's own folders
  void* handle = nullptr;
  for (const std::string& path : tried) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) break;
  }
  if (handle == nullptr) {
    return absl::UnavailableError(
        fmt::format("{} cannot be opened ({}). Install the CUDA Toolkit 13 (or its CUPTI package alone) or set "
                    "CUDA_HOME to where it lies.",
                    kLibraryName, dlerror()));
  }
  static Library library;
  if (std::string missing = FindAll(handle, library); !missing.empty()) {
    return absl::UnavailableError(
        fmt::format("{} has no {}. Install CUPTI of CUDA 13.0 or newer.", kLibraryName, missing));
  }
  return &library;
}

}  // namespace

absl::StatusOr<const Library*> LoadLibrary() {
  static const absl::StatusOr<const Library*> library = Open();
  return library;
}

absl::Status ToStatus(const Library& library, CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return absl::OkStatus();
  const char* text = nullptr;
  library.GetResultString(result, &text);
  const std::string message =
      fmt::format("{}: {} (CUPTI error {})", what, text != nullptr ? text : "unknown", static_cast<int>(result));
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return absl::PermissionDeniedError(
          message +
          ". The driver keeps the counters for administrators: load the nvidia module with "
          "NVreg_RestrictProfilingToAdminUsers=0, or run the worker as root (a container also needs "
          "--cap-add=SYS_ADMIN).");
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return absl::UnavailableError(message + ". Another profiler holds the counters: end it.");
    default:
      return absl::UnavailableError(message);
  }
}

}  // namespace fsr::cupti
