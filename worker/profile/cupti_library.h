// CUPTI, opened at run time: the program starts on a machine without it and can say so.
#pragma once

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fsr::cupti {

// The functions we use, by their names without "cupti". Constant after Load. One thread of a process uses them at a
// time.
struct Library {
  decltype(&::cuptiGetResultString) GetResultString = nullptr;
  decltype(&::cuptiDeviceGetChipName) DeviceGetChipName = nullptr;
  decltype(&::cuptiProfilerInitialize) ProfilerInitialize = nullptr;
  decltype(&::cuptiProfilerDeviceSupported) ProfilerDeviceSupported = nullptr;
  decltype(&::cuptiProfilerGetCounterAvailability) ProfilerGetCounterAvailability = nullptr;
  decltype(&::cuptiProfilerHostInitialize) HostInitialize = nullptr;
  decltype(&::cuptiProfilerHostDeinitialize) HostDeinitialize = nullptr;
  decltype(&::cuptiProfilerHostGetMetricProperties) HostGetMetricProperties = nullptr;
  decltype(&::cuptiProfilerHostConfigAddMetrics) HostConfigAddMetrics = nullptr;
  decltype(&::cuptiProfilerHostGetConfigImageSize) HostGetConfigImageSize = nullptr;
  decltype(&::cuptiProfilerHostGetConfigImage) HostGetConfigImage = nullptr;
  decltype(&::cuptiProfilerHostGetNumOfPasses) HostGetNumOfPasses = nullptr;
  decltype(&::cuptiProfilerHostEvaluateToGpuValues) HostEvaluateToGpuValues = nullptr;
  decltype(&::cuptiRangeProfilerEnable) RangeEnable = nullptr;
  decltype(&::cuptiRangeProfilerDisable) RangeDisable = nullptr;
  decltype(&::cuptiRangeProfilerSetConfig) RangeSetConfig = nullptr;
  decltype(&::cuptiRangeProfilerStart) RangeStart = nullptr;
  decltype(&::cuptiRangeProfilerStop) RangeStop = nullptr;
  decltype(&::cuptiRangeProfilerPushRange) RangePush = nullptr;
  decltype(&::cuptiRangeProfilerPopRange) RangePop = nullptr;
  decltype(&::cuptiRangeProfilerDecodeData) RangeDecodeData = nullptr;
  decltype(&::cuptiRangeProfilerGetCounterDataSize) RangeGetCounterDataSize = nullptr;
  decltype(&::cuptiRangeProfilerCounterDataImageInitialize) RangeCounterDataImageInitialize = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) ActivityRegisterCallbacks = nullptr;
  decltype(&::cuptiActivityEnable) ActivityEnable = nullptr;
  decltype(&::cuptiActivityDisable) ActivityDisable = nullptr;
  decltype(&::cuptiActivityFlushAll) ActivityFlushAll = nullptr;
  decltype(&::cuptiActivityGetNextRecord) ActivityGetNextRecord = nullptr;
};

// Opens libcupti.so.13 once for the process; it is looked for where NVRTC is (worker/compile/toolkit.h). UNAVAILABLE
// says what to install.
absl::StatusOr<const Library*> LoadLibrary();

// OK, or UNAVAILABLE with CUPTI's own words. PERMISSION_DENIED where the driver keeps the counters for administrators:
// the message says what to change.
absl::Status ToStatus(const Library& library, CUptiResult result, const char* what);

// A zeroed parameter structure that knows its size: what every call of the profiling interface takes.
template <typename Params>
Params MakeParams(size_t struct_size) {
  Params params{};
  params.structSize = struct_size;
  return params;
}

}  // namespace fsr::cupti

// CUPTI's own macro gives the size by the structure's name.
#define FSR_CUPTI_PARAMS(type) (::fsr::cupti::MakeParams<type>(type##_STRUCT_SIZE))
