#include <algorithm>
#include <string>

#include "common/size_expression.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"
#include "worker/meter/meter.h"

namespace fsr {
namespace {

// The amount of work that `text` says for the case; 0 where the task does not say.
absl::StatusOr<double> EvaluateWork(std::string_view field, const std::string& text, const v1::Case& which) {
  if (text.empty()) return 0.0;
  const auto evaluate = [&]() -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const SizeExpression expression, SizeExpression::Parse(text));
    return expression.Evaluate(SizeBindings(which.sizes().begin(), which.sizes().end()));
  };
  const auto amount = evaluate();
  if (!amount.ok()) return WithContext(fmt::format("work.{} of the task", field), amount.status());
  if (*amount < 0) {
    return absl::InvalidArgumentError(
        fmt::format("work.{} of the task is {} = {}; it must not be negative", field, text, *amount));
  }
  return static_cast<double>(*amount);
}

// Tensor cores take these far beyond the f32 rate, which then bounds nothing.
bool MayUseTensorCores(const v1::Task& task) {
  return std::any_of(task.parameters().begin(), task.parameters().end(), [](const v1::Parameter& parameter) {
    const bool buffer = parameter.shape_size() > 0;
    return buffer && (parameter.type() == v1::F16 || parameter.type() == v1::BF16 || parameter.type() == v1::I8 ||
                      parameter.type() == v1::U8);
  });
}

double Rate(double measured, double data_sheet, FloorRates rates) {
  return rates == FloorRates::kMeasured && measured > 0 ? measured : data_sheet;
}

}  // namespace

absl::StatusOr<double> FloorMicroseconds(const v1::Task& task, const v1::Case& which, const v1::DeviceFacts& device,
                                         FloorRates rates) {
  ASSIGN_OR_RETURN(const double bytes, EvaluateWork("bytes", task.work().bytes(), which));
  ASSIGN_OR_RETURN(const double flops, EvaluateWork("flops", task.work().flops(), which));
  const double gb_per_s = Rate(device.measured_copy_gb_per_s(), device.memory_bandwidth_gb_per_s(), rates);
  const double tflops = Rate(device.measured_f32_tflops(), device.f32_peak_tflops(), rates);
  // 1 GB/s is 1e3 bytes a microsecond, 1 TFLOP/s 1e6 operations.
  const double memory_us = gb_per_s > 0 ? bytes / (gb_per_s * 1e3) : 0;
  const double compute_us = tflops > 0 && !MayUseTensorCores(task) ? flops / (tflops * 1e6) : 0;
  return std::max(memory_us, compute_us);
}

absl::StatusOr<double> ImpossibleBelowMicroseconds(const v1::Task& task, const v1::Case& which,
                                                   const v1::DeviceFacts& device) {
  v1::Task uncached = task;
  // What is written may still lie in the L2 cache when the kernel ends: at most its size never reached memory.
  uncached.mutable_work()->set_bytes(
      task.work().bytes().empty() ? "" : fmt::format("max(0, ({}) - {})", task.work().bytes(), device.l2_bytes()));
  return FloorMicroseconds(uncached, which, device, FloorRates::kDataSheet);
}

}  // namespace fsr
