#include "worker/profile/metric_host.h"

#include <cmath>
#include <utility>

#include "common/status_macros.h"

namespace fsr::cupti {

std::vector<const char*> Pointers(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

absl::StatusOr<std::unique_ptr<MetricHost>> MetricHost::Create(const Library& library, const std::string& chip,
                                                               std::vector<uint8_t> availability) {
  auto host = std::unique_ptr<MetricHost>(new MetricHost(library, std::move(availability)));
  auto params = FSR_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params);
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = chip.c_str();
  params.pCounterAvailabilityImage = host->availability_.empty() ? nullptr : host->availability_.data();
  RETURN_IF_ERROR(ToStatus(library, library.HostInitialize(&params), "looking up the chip's metrics"));
  host->host_ = params.pHostObject;
  return host;
}

MetricHost::~MetricHost() {
  if (host_ == nullptr) return;
  auto params = FSR_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
  params.pHostObject = host_;
  library_.HostDeinitialize(&params);
}

std::vector<std::string> MetricHost::Known(const std::vector<std::string>& metrics) const {
  std::vector<std::string> known;
  for (const std::string& metric : metrics) {
    auto params = FSR_CUPTI_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params);
    params.pHostObject = host_;
    params.pMetricName = metric.c_str();
    if (library_.HostGetMetricProperties(&params) == CUPTI_SUCCESS) known.push_back(metric);
  }
  return known;
}

absl::StatusOr<std::vector<uint8_t>> MetricHost::ConfigImage(const std::vector<std::string>& metrics) {
  std::vector<const char*> names = Pointers(metrics);
  auto add = FSR_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
  add.pHostObject = host_;
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  RETURN_IF_ERROR(ToStatus(library_, library_.HostConfigAddMetrics(&add), "choosing metrics"));
  auto size = FSR_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
  size.pHostObject = host_;
  RETURN_IF_ERROR(ToStatus(library_, library_.HostGetConfigImageSize(&size), "planning the passes"));
  std::vector<uint8_t> image(size.configImageSize);
  auto get = FSR_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
  get.pHostObject = host_;
  get.configImageSize = image.size();
  get.pConfigImage = image.data();
  RETURN_IF_ERROR(ToStatus(library_, library_.HostGetConfigImage(&get), "planning the passes"));
  return image;
}

absl::StatusOr<size_t> MetricHost::PassCount(std::vector<uint8_t>& config_image) const {
  auto params = FSR_CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params);
  params.configImageSize = config_image.size();
  params.pConfigImage = config_image.data();
  RETURN_IF_ERROR(ToStatus(library_, library_.HostGetNumOfPasses(&params), "counting the passes"));
  return params.numOfPasses;
}

absl::StatusOr<std::map<std::string, double>> MetricHost::Evaluate(const std::vector<uint8_t>& counter_data,
                                                                   const std::vector<std::string>& metrics) const {
  std::vector<const char*> names = Pointers(metrics);
  std::vector<double> values(metrics.size());
  auto params = FSR_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  params.pHostObject = host_;
  params.pCounterDataImage = counter_data.data();
  params.counterDataImageSize = counter_data.size();
  params.rangeIndex = 0;
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  params.pMetricValues = values.data();
  RETURN_IF_ERROR(ToStatus(library_, library_.HostEvaluateToGpuValues(&params), "reading the counters"));
  std::map<std::string, double> by_name;
  for (size_t i = 0; i < metrics.size(); ++i) {
    // A ratio of nothing to nothing is no figure.
    if (std::isfinite(values[i])) by_name[metrics[i]] = values[i];
  }
  return by_name;
}

}  // namespace fsr::cupti
