#include "worker/profile/range_profiler.h"

#include <fmt/format.h>

#include <utility>

#include "common/status_macros.h"
#include "worker/profile/metric_host.h"

namespace fsr::cupti {
namespace {

constexpr char kRangeName[] = "plan";

// The Range Profiler of a context, enabled from Enable to destruction.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Enable(const Library& library, CUcontext context) {
    auto params = FSR_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params);
    params.ctx = context;
    RETURN_IF_ERROR(ToStatus(library, library.RangeEnable(&params), "taking hold of the counters"));
    return std::unique_ptr<Session>(new Session(library, params.pRangeProfilerObject));
  }
  ~Session() {
    auto params = FSR_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params);
    params.pRangeProfilerObject = object_;
    library_.RangeDisable(&params);
  }
  Session(const Session&) = delete;  // owns the enabled profiler
  Session& operator=(const Session&) = delete;

  // Room for one range's counts; where Run leaves them.
  absl::StatusOr<std::vector<uint8_t>> CounterData(const std::vector<std::string>& metrics) {
    std::vector<const char*> names = Pointers(metrics);
    auto size = FSR_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    RETURN_IF_ERROR(ToStatus(library_, library_.RangeGetCounterDataSize(&size), "sizing the counters' memory"));
    std::vector<uint8_t> data(size.counterDataSize);
    auto initialize = FSR_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    initialize.pRangeProfilerObject = object_;
    initialize.counterDataSize = data.size();
    initialize.pCounterData = data.data();
    RETURN_IF_ERROR(ToStatus(library_, library_.RangeCounterDataImageInitialize(&initialize), "clearing the counters"));
    return data;
  }

  // Runs passes until all are submitted; the number of passes.
  absl::StatusOr<size_t> Run(const std::vector<uint8_t>& config, std::vector<uint8_t>& data,
                             const RangeProfiler::Work& work) {
    auto set = FSR_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
    set.pRangeProfilerObject = object_;
    set.configSize = config.size();
    set.pConfig = config.data();
    set.counterDataImageSize = data.size();
    set.pCounterDataImage = data.data();
    set.range = CUPTI_UserRange;
    set.replayMode = CUPTI_UserReplay;
    set.maxRangesPerPass = 1;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.passIndex = 0;
    set.targetNestingLevel = 1;
    RETURN_IF_ERROR(ToStatus(library_, library_.RangeSetConfig(&set), "configuring the counters"));
    for (size_t pass = 1; pass <= kPassesMax; ++pass) {
      RETURN_IF_ERROR(work.prepare());
      ASSIGN_OR_RETURN(const bool last, RunPass(work.run));
      if (!last) continue;
      auto decode = FSR_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
      decode.pRangeProfilerObject = object_;
      RETURN_IF_ERROR(ToStatus(library_, library_.RangeDecodeData(&decode), "decoding the counters"));
      if (decode.numOfRangeDropped > 0) return absl::UnavailableError("CUPTI dropped the counters of the run.");
      return pass;
    }
    return absl::UnavailableError(fmt::format("The counters need more than {} passes.", kPassesMax));
  }

 private:
  Session(const Library& library, CUpti_RangeProfiler_Object* object) : library_(library), object_(object) {}

  // True if it was the last one. What is started is stopped, also after an error.
  absl::StatusOr<bool> RunPass(const std::function<absl::Status()>& run) {
    auto start = FSR_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = object_;
    RETURN_IF_ERROR(ToStatus(library_, library_.RangeStart(&start), "starting the counters"));
    auto push = FSR_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params);
    push.pRangeProfilerObject = object_;
    push.pRangeName = kRangeName;
    absl::Status status = ToStatus(library_, library_.RangePush(&push), "opening the range");
    if (status.ok()) {
      status = run();
      auto pop = FSR_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params);
      pop.pRangeProfilerObject = object_;
      status.Update(ToStatus(library_, library_.RangePop(&pop), "closing the range"));
    }
    auto stop = FSR_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = object_;
    status.Update(ToStatus(library_, library_.RangeStop(&stop), "stopping the counters"));
    RETURN_IF_ERROR(status);
    return stop.isAllPassSubmitted != 0;
  }

  const Library& library_;
  CUpti_RangeProfiler_Object* const object_;
};

absl::Status CheckSupported(const Library& library, CUdevice device) {
  auto params = FSR_CUPTI_PARAMS(CUpti_Profiler_DeviceSupported_Params);
  params.cuDevice = device;
  params.api = CUPTI_PROFILER_RANGE_PROFILING;
  RETURN_IF_ERROR(
      ToStatus(library, library.ProfilerDeviceSupported(&params), "asking whether the GPU can be profiled"));
  if (params.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return absl::OkStatus();
  const char* why = "it is not one that CUPTI can profile";
  if (params.vGpu != CUPTI_PROFILER_CONFIGURATION_SUPPORTED) why = "profiling is off for this virtual GPU; enable it";
  if (params.confidentialCompute != CUPTI_PROFILER_CONFIGURATION_SUPPORTED) why = "confidential computing is on";
  if (params.architecture != CUPTI_PROFILER_CONFIGURATION_SUPPORTED) why = "it is older than Turing";
  return absl::UnavailableError(fmt::format("The GPU's counters cannot be read: {}.", why));
}

// Which counters the GPU has free for us. To ask takes longer than several passes, and the answer stays the same.
absl::StatusOr<std::vector<uint8_t>> Availability(const Library& library, int ordinal, CUcontext context) {
  static auto& known = *new std::map<int, std::vector<uint8_t>>;  // one thread of a process profiles
  if (const auto found = known.find(ordinal); found != known.end()) return found->second;
  auto available = FSR_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params);
  available.ctx = context;
  RETURN_IF_ERROR(ToStatus(library, library.ProfilerGetCounterAvailability(&available), "asking for the counters"));
  std::vector<uint8_t> image(available.counterAvailabilityImageSize);
  available.pCounterAvailabilityImage = image.data();
  RETURN_IF_ERROR(ToStatus(library, library.ProfilerGetCounterAvailability(&available), "asking for the counters"));
  known[ordinal] = image;
  return image;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RangeProfiler>> RangeProfiler::Create(int ordinal, CUcontext context) {
  ASSIGN_OR_RETURN(const Library* library, LoadLibrary());
  auto initialize = FSR_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params);
  RETURN_IF_ERROR(ToStatus(*library, library->ProfilerInitialize(&initialize), "starting CUPTI"));
  RETURN_IF_ERROR(CheckSupported(*library, ordinal));
  auto profiler = std::unique_ptr<RangeProfiler>(new RangeProfiler(*library, context));
  auto chip = FSR_CUPTI_PARAMS(CUpti_Device_GetChipName_Params);
  chip.deviceIndex = static_cast<size_t>(ordinal);
  RETURN_IF_ERROR(ToStatus(*library, library->DeviceGetChipName(&chip), "asking for the chip's name"));
  profiler->chip_ = chip.pChipName;
  ASSIGN_OR_RETURN(profiler->availability_, Availability(*library, ordinal, context));
  return profiler;
}

absl::StatusOr<RangeProfiler::Values> RangeProfiler::Profile(const std::vector<std::string>& metrics,
                                                             const Work& work) {
  ASSIGN_OR_RETURN(const std::unique_ptr<MetricHost> host, MetricHost::Create(library_, chip_, availability_));
  const std::vector<std::string> known = host->Known(metrics);
  if (known.empty()) return Values{};
  ASSIGN_OR_RETURN(const std::vector<uint8_t> config, host->ConfigImage(known));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Enable(library_, context_));
  ASSIGN_OR_RETURN(std::vector<uint8_t> data, session->CounterData(known));
  Values values;
  ASSIGN_OR_RETURN(values.pass_count, session->Run(config, data, work));
  ASSIGN_OR_RETURN(values.by_metric, host->Evaluate(data, known));
  return values;
}

}  // namespace fsr::cupti
