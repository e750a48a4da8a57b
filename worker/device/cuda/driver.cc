#include "worker/device/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>

#include "common/status_macros.h"
#include "common/symbol_loader.h"

namespace fsr::cuda {
namespace {

// Versioned names: what cuda.h of CUDA 13 maps the plain names to.
std::string FindAll(void* library, Driver& d) {
  SymbolLoader loader(library);
  loader.Find("cuInit", &d.Init);
  loader.Find("cuDriverGetVersion", &d.DriverGetVersion);
  loader.Find("cuGetErrorName", &d.GetErrorName);
  loader.Find("cuGetErrorString", &d.GetErrorString);
  loader.Find("cuDeviceGet", &d.DeviceGet);
  loader.Find("cuDeviceGetCount", &d.DeviceGetCount);
  loader.Find("cuDeviceGetName", &d.DeviceGetName);
  loader.Find("cuDeviceGetUuid_v2", &d.DeviceGetUuid);
  loader.Find("cuDeviceTotalMem_v2", &d.DeviceTotalMem);
  loader.Find("cuDeviceGetAttribute", &d.DeviceGetAttribute);
  loader.Find("cuDevicePrimaryCtxRetain", &d.DevicePrimaryCtxRetain);
  loader.Find("cuDevicePrimaryCtxRelease_v2", &d.DevicePrimaryCtxRelease);
  loader.Find("cuCtxSetCurrent", &d.CtxSetCurrent);
  loader.Find("cuCtxSynchronize", &d.CtxSynchronize);
  loader.Find("cuCtxResetPersistingL2Cache", &d.CtxResetPersistingL2Cache);
  loader.Find("cuMemAlloc_v2", &d.MemAlloc);
  loader.Find("cuMemFree_v2", &d.MemFree);
  loader.Find("cuMemHostAlloc", &d.MemHostAlloc);
  loader.Find("cuMemFreeHost", &d.MemFreeHost);
  loader.Find("cuMemHostGetDevicePointer_v2", &d.MemHostGetDevicePointer);
  loader.Find("cuMemcpyHtoD_v2", &d.MemcpyHtoD);
  loader.Find("cuMemcpyDtoH_v2", &d.MemcpyDtoH);
  loader.Find("cuMemcpyDtoDAsync_v2", &d.MemcpyDtoDAsync);
  loader.Find("cuMemsetD8Async", &d.MemsetD8Async);
  loader.Find("cuMemsetD8_v2", &d.MemsetD8);
  loader.Find("cuMemGetInfo_v2", &d.MemGetInfo);
  loader.Find("cuStreamCreate", &d.StreamCreate);
  loader.Find("cuStreamDestroy_v2", &d.StreamDestroy);
  loader.Find("cuStreamQuery", &d.StreamQuery);
  loader.Find("cuStreamSynchronize", &d.StreamSynchronize);
  loader.Find("cuEventCreate", &d.EventCreate);
  loader.Find("cuEventDestroy_v2", &d.EventDestroy);
  loader.Find("cuEventRecord", &d.EventRecord);
  loader.Find("cuEventSynchronize", &d.EventSynchronize);
  loader.Find("cuEventElapsedTime_v2", &d.EventElapsedTime);
  loader.Find("cuModuleLoadDataEx", &d.ModuleLoadDataEx);
  loader.Find("cuModuleUnload", &d.ModuleUnload);
  loader.Find("cuModuleGetFunction", &d.ModuleGetFunction);
  loader.Find("cuFuncGetAttribute", &d.FuncGetAttribute);
  loader.Find("cuFuncSetAttribute", &d.FuncSetAttribute);
  loader.Find("cuFuncGetParamInfo", &d.FuncGetParamInfo);
  loader.Find("cuLaunchKernelEx", &d.LaunchKernelEx);
  loader.Find("cuTensorMapEncodeTiled", &d.TensorMapEncodeTiled);
  loader.Find("cuOccupancyMaxActiveBlocksPerMultiprocessor", &d.OccupancyMaxActiveBlocksPerMultiprocessor);
  return loader.missing();
}

absl::StatusOr<const Driver*> Open() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::UnavailableError(
        fmt::format("There is no NVIDIA driver on this machine ({}). Install the driver, or use a simulated device "
                    "such as sim:h200.",
                    dlerror()));
  }
  static Driver driver;
  if (std::string missing = FindAll(library, driver); !missing.empty()) {
    return absl::UnavailableError(fmt::format(
        "The NVIDIA driver is too old: libcuda.so.1 has no {}. Install driver 580 or newer (CUDA 13).", missing));
  }
  if (CUresult result = driver.Init(0); result != CUDA_SUCCESS) {
    return absl::UnavailableError(fmt::format("The NVIDIA driver finds no usable GPU: {}.", ErrorText(driver, result)));
  }
  return &driver;
}

}  // namespace

absl::StatusOr<const Driver*> LoadDriver() {
  static const absl::StatusOr<const Driver*> driver = Open();
  return driver;
}

namespace {
std::atomic<bool> context_is_broken = false;
}  // namespace

bool ContextIsBroken() { return context_is_broken; }
void SetContextBroken() { context_is_broken = true; }

std::string ErrorText(const Driver& driver, CUresult result) {
  const char *name = nullptr, *text = nullptr;
  driver.GetErrorName(result, &name);
  driver.GetErrorString(result, &text);
  return fmt::format("{}: {}", name != nullptr ? name : fmt::format("CUDA error {}", static_cast<int>(result)),
                     text != nullptr ? text : "unknown");
}

absl::Status ToStatus(const Driver& driver, CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const std::string message = fmt::format("{}: {}", what, ErrorText(driver, result));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return absl::ResourceExhaustedError(message);
  return absl::UnavailableError(message);
}

}  // namespace fsr::cuda
