#include "worker/profile/activity.h"

#include <cstdint>
#include <cstdlib>

#include "absl/synchronization/mutex.h"
#include "common/status_macros.h"
#include "worker/profile/cupti_library.h"

namespace fsr::cupti {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kBufferAlignment = 8;  // of CUPTI's records
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMSET};

// CUPTI's callbacks take no argument of ours and come on its own threads: what they find is the process's.
struct Records {
  absl::Mutex mutex;
  ActivityTime time ABSL_GUARDED_BY(mutex);
};

Records& TheRecords() {
  static Records& records = *new Records;  // never destroyed: CUPTI may call until the process has ended
  return records;
}

double Microseconds(uint64_t start_ns, uint64_t end_ns) {
  return end_ns > start_ns ? 1e-3 * static_cast<double>(end_ns - start_ns) : 0;
}

void CUPTIAPI OnBufferRequested(uint8_t** buffer, size_t* size, size_t* record_count_max) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer != nullptr ? kBufferBytes : 0;
  *record_count_max = 0;  // as many as fit
}

void CUPTIAPI OnBufferCompleted(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  const absl::StatusOr<const Library*> library = LoadLibrary();
  Records& records = TheRecords();
  absl::MutexLock lock(&records.mutex);
  CUpti_Activity* record = nullptr;
  while (library.ok() && (*library)->ActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      records.time.busy_us += Microseconds(kernel.start, kernel.end);
      ++records.time.kernel_count;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      const auto& fill = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      records.time.busy_us += Microseconds(fill.start, fill.end);
      ++records.time.memset_count;
    }
  }
  std::free(buffer);
}

absl::Status EnableAll(const Library& library) {
  for (const CUpti_ActivityKind kind : kKinds) {
    RETURN_IF_ERROR(ToStatus(library, library.ActivityEnable(kind), "recording activity"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ActivityTime> RecordActivity(const std::function<absl::Status()>& run) {
  ASSIGN_OR_RETURN(const Library* library, LoadLibrary());
  RETURN_IF_ERROR(ToStatus(*library, library->ActivityRegisterCallbacks(&OnBufferRequested, &OnBufferCompleted),
                           "recording activity"));
  Records& records = TheRecords();
  {
    absl::MutexLock lock(&records.mutex);
    records.time = {};
  }
  absl::Status status = EnableAll(*library);
  if (status.ok()) status = run();
  for (const CUpti_ActivityKind kind : kKinds) library->ActivityDisable(kind);
  status.Update(ToStatus(*library, library->ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "reading activity"));
  RETURN_IF_ERROR(status);
  absl::MutexLock lock(&records.mutex);
  if (records.time.kernel_count == 0) {
    return absl::UnavailableError("CUPTI recorded no kernel: is another profiler attached to the process?");
  }
  return records.time;
}

}  // namespace fsr::cupti
