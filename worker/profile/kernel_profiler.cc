#include "worker/profile/kernel_profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "common/size_expression.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "worker/profile/activity.h"
#include "worker/device/cuda/cache_sweeper.h"
#include "worker/profile/hint_rules.h"
#include "worker/profile/instruction_families.h"
#include "worker/profile/range_profiler.h"

namespace fsr {
namespace {

constexpr int kActivityRuns = 5;
constexpr double kUsualRuns = 20;  // of the plan, passes and activity together

class KernelProfiler {
 public:
  KernelProfiler(cuda::CudaDevice& device, const ProfileRequest& request) : device_(device), request_(request) {}

  ProfileReport Profile() {
    if (request_.facts.latency_us * 1e-6 * kUsualRuns > kProfileSecondsMax) {
      report_.hints.push_back(
          fmt::format("No counters were taken: at {:.0f} ms a run, the {:.0f} runs that they need "
                      "would take longer than {:.0f} s.",
                      request_.facts.latency_us * 1e-3, kUsualRuns, kProfileSecondsMax));
      return report_;
    }
    // One after the other: CUPTI has one client at a time.
    const absl::Status activity = TakeActivity();
    std::map<std::string, double> metrics;
    const absl::Status counters = TakeCounters(&metrics);
    if (counters.ok()) AddCounters(metrics);
    // Where both fail the reason is the same, and the counters' message says more.
    if (!counters.ok()) {
      report_.hints.push_back("No hardware counters: " + MessageOf(counters));
    } else if (!activity.ok()) {
      report_.hints.push_back("No CUPTI time to compare with: " + MessageOf(activity));
    }
    AddInstructions(metrics);
    return report_;
  }

 private:
  absl::Status Await() {
    if (const auto failure = device_.Await(request_.run_limit)) {
      return absl::UnavailableError("the plan broke while it was profiled: " + failure->fault.message());
    }
    return absl::OkStatus();
  }

  absl::Status RunPlan() {
    if (const auto failure = device_.Enqueue(*request_.plan)) {
      return absl::UnavailableError("the plan could not be launched while it was profiled: " +
                                    failure->fault.message());
    }
    return Await();
  }

  absl::Status TakeActivity() {
    std::vector<double> microseconds;
    size_t kernel_count = 0;
    for (int run = 0; run < kActivityRuns; ++run) {
      RETURN_IF_ERROR(request_.before());
      RETURN_IF_ERROR(Await());
      ASSIGN_OR_RETURN(const cupti::ActivityTime time, cupti::RecordActivity([&] { return RunPlan(); }));
      microseconds.push_back(time.busy_us);
      kernel_count = time.kernel_count;
    }
    std::nth_element(microseconds.begin(), microseconds.begin() + kActivityRuns / 2, microseconds.end());
    AddActivity(microseconds[kActivityRuns / 2], kernel_count);
    return absl::OkStatus();
  }

  void AddActivity(double busy_us, size_t kernel_count) {
    v1::Counter counter;
    counter.set_name("activity_time_us");
    counter.set_value(busy_us);
    counter.set_unit("us");
    report_.counters.push_back(counter);
    const double events_us = request_.facts.latency_us;
    // Events also see how launches begin and end; CUPTI's times do not.
    const double launching_us = request_.facts.device.launch_overhead_us();
    const double difference = events_us - busy_us;
    const double limit = std::max(kActivityDifferenceUsMax, kActivityShareMax * events_us);
    if (kernel_count > 1 && difference > limit) {
      report_.hints.push_back(fmt::format(
          "Of the {:.1f} us, the {} kernels take {:.1f}: the rest passes round and between them. Fewer launches would "
          "help.",
          events_us, kernel_count, busy_us));
    } else if (difference > limit + launching_us || -difference > limit) {
      report_.hints.push_back(fmt::format(
          "CUPTI says that the kernel takes {:.1f} us, the events that timed it say {:.1f} us.", busy_us, events_us));
    }
  }

  absl::Status TakeCounters(std::map<std::string, double>* metrics) {
    ASSIGN_OR_RETURN(const auto profiler, cupti::RangeProfiler::Create(device_.ordinal(), device_.context()));
    ASSIGN_OR_RETURN(const auto sweeper, cuda::CacheSweeper::Create(device_));
    std::vector<std::string> names = CuratedMetrics();
    for (const std::string& instruction : request_.instructions) {
      for (std::string& metric : MetricsOfInstruction(instruction)) {
        if (std::count(names.begin(), names.end(), metric) == 0) names.push_back(std::move(metric));
      }
    }
    const cupti::RangeProfiler::Work work{.prepare =
                                              [&] {
                                                RETURN_IF_ERROR(request_.before());
                                                RETURN_IF_ERROR(sweeper->Sweep());
                                                return Await();
                                              },
                                          .run = [&] { return RunPlan(); }};
    ASSIGN_OR_RETURN(cupti::RangeProfiler::Values values, profiler->Profile(names, work));
    *metrics = std::move(values.by_metric);
    return absl::OkStatus();
  }

  void AddCounters(const std::map<std::string, double>& metrics) {
    std::vector<v1::Counter> counters = CountersOf(metrics, request_.facts);
    Findings findings = Interpret(counters, request_.facts);
    report_.limited_by = std::move(findings.limited_by);
    report_.counters.insert(report_.counters.end(), counters.begin(), counters.end());
    report_.hints.insert(report_.hints.begin(), findings.hints.begin(), findings.hints.end());
  }

  void AddInstructions(const std::map<std::string, double>& metrics) {
    for (const std::string& instruction : std::set(request_.instructions.begin(), request_.instructions.end())) {
      if (const std::optional<uint64_t> count = ExecutedInstructions(instruction, metrics)) {
        report_.executed_instructions[instruction] = *count;
      } else {
        report_.hints.push_back(
            fmt::format("Whether {} instructions were executed is unknown: the GPU did not count "
                        "them. They stand in the PTX or do not, as the task asks.",
                        instruction));
      }
    }
  }

  cuda::CudaDevice& device_;
  const ProfileRequest& request_;
  ProfileReport report_;
};

double Evaluated(const std::string& text, const v1::Case& which) {
  if (text.empty()) return 0;
  const auto expression = SizeExpression::Parse(text);
  if (!expression.ok()) return 0;
  const auto amount = expression->Evaluate(SizeBindings(which.sizes().begin(), which.sizes().end()));
  return amount.ok() && *amount > 0 ? static_cast<double>(*amount) : 0;
}

}  // namespace

void DescribeWork(const v1::Task& task, const v1::Case& which, ProfiledPlan* plan) {
  plan->least_bytes = Evaluated(task.work().bytes(), which);
  plan->flops = Evaluated(task.work().flops(), which);
  plan->half_or_integer_data =
      std::any_of(task.parameters().begin(), task.parameters().end(), [](const v1::Parameter& parameter) {
        return parameter.shape_size() > 0 && (parameter.type() == v1::F16 || parameter.type() == v1::BF16 ||
                                              parameter.type() == v1::I8 || parameter.type() == v1::U8);
      });
}

ProfileReport ProfileKernel(cuda::CudaDevice& device, const ProfileRequest& request) {
  return KernelProfiler(device, request).Profile();
}

}  // namespace fsr
