// The side of profiling that needs no GPU: which metrics a chip has, how many passes they take, what the raw counts
// mean.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/profile/cupti_library.h"

namespace fsr::cupti {

// Not safe for concurrent use.
class MetricHost {
 public:
  // `chip` is CUPTI's name, such as "GH100". `availability` is what the device's context says can be counted; empty
  // means all that the chip has.
  static absl::StatusOr<std::unique_ptr<MetricHost>> Create(const Library& library, const std::string& chip,
                                                            std::vector<uint8_t> availability);
  ~MetricHost();
  MetricHost(const MetricHost&) = delete;  // owns CUPTI's object
  MetricHost& operator=(const MetricHost&) = delete;

  // Without the names that the chip does not know, in order.
  std::vector<std::string> Known(const std::vector<std::string>& metrics) const;

  // How `metrics` are to be counted. All in one: asked for one by one, each would take a pass of its own.
  // REQUIRES: called once; all of `metrics` are known.
  absl::StatusOr<std::vector<uint8_t>> ConfigImage(const std::vector<std::string>& metrics);
  absl::StatusOr<size_t> PassCount(std::vector<uint8_t>& config_image) const;

  // The metrics' values for the first range of a decoded counter data image.
  absl::StatusOr<std::map<std::string, double>> Evaluate(const std::vector<uint8_t>& counter_data,
                                                         const std::vector<std::string>& metrics) const;

 private:
  MetricHost(const Library& library, std::vector<uint8_t> availability)
      : library_(library), availability_(std::move(availability)) {}

  const Library& library_;
  const std::vector<uint8_t> availability_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

// The form in which CUPTI takes lists of names. The names must outlive it.
std::vector<const char*> Pointers(const std::vector<std::string>& names);

}  // namespace fsr::cupti
