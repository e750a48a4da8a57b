#include "worker/meter/simulated_meter.h"

#include <utility>

#include "common/random.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"
#include "worker/judge/bench.h"
#include "worker/judge/measured_case.h"
#include "worker/judge/output_check.h"
#include "worker/meter/resources.h"
#include "worker/meter/verdict.h"
#include "worker/meter/wrong_when_measured.h"

namespace fsr {
namespace {

// One kernel's run with its estimate; `failure` as in MeterReport.
struct Estimated {
  KernelRun run;
  std::vector<v1::Resources> resources;
  std::optional<LaunchReport::Failure> failure;
};

class SimulatedMeter {
 public:
  SimulatedMeter(Device& device, const v1::Task& task, const JudgeOptions& options)
      : device_(device),
        task_(task),
        which_(MeasuredCase(task, device.facts())),
        options_(options),
        seed_(DeriveSeed(options.seed, "simulated measurement")) {}

  absl::StatusOr<MeterReport> Measure(const LoadableKernel& candidate, const LoadableKernel& oracle,
                                      const std::vector<MeterReference>& references);

 private:
  absl::StatusOr<Estimated> Estimate(Bench& bench, const LoadableKernel& kernel, const std::string& purpose);
  absl::StatusOr<std::optional<LaunchReport::Failure>> Check(const Bench& bench, const KernelRun& run,
                                                             const std::vector<HostBuffer>& expected);
  absl::StatusOr<v1::Measurement> Complete(v1::Measurement estimate);
  absl::Status ReferenceFailed(v1::Comparison::Against against, const LaunchReport::Failure& failure);

  Device& device_;
  const v1::Task& task_;
  const v1::Case& which_;
  const JudgeOptions& options_;
  const uint64_t seed_;
};

absl::StatusOr<Estimated> SimulatedMeter::Estimate(Bench& bench, const LoadableKernel& kernel,
                                                   const std::string& purpose) {
  Estimated estimated;
  ASSIGN_OR_RETURN(Bench::LoadResult loaded, bench.Load(kernel));
  if (loaded.failure) {
    estimated.failure = std::move(loaded.failure);
    return estimated;
  }
  // The judge's run of this case had the other poison.
  ASSIGN_OR_RETURN(estimated.run, bench.Run(*loaded.kernel, PoisonKind::kExtreme, DeriveSeed(seed_, purpose),
                                            {.time_limit = options_.run_limit, .estimate = true}));
  estimated.failure = estimated.run.report.failure;
  estimated.resources = ResourcesOf(kernel.compiled, loaded.kernel->plan);
  if (!estimated.failure && !estimated.run.report.estimate) {
    return absl::InternalError(fmt::format("the device {} ran a kernel of task {} but gave no estimate",
                                           device_.facts().kind(), task_.name()));
  }
  return estimated;
}

absl::StatusOr<std::optional<LaunchReport::Failure>> SimulatedMeter::Check(const Bench& bench, const KernelRun& run,
                                                                           const std::vector<HostBuffer>& expected) {
  ASSIGN_OR_RETURN(OutputCheck check, CheckOutputs(bench, run, expected, nullptr));
  if (check.mismatches.empty()) return std::nullopt;
  return WrongWhenMeasured(task_, which_, std::move(check.mismatches));
}

absl::StatusOr<v1::Measurement> SimulatedMeter::Complete(v1::Measurement estimate) {
  estimate.set_estimated(true);
  estimate.set_noise(0);
  estimate.set_sample_count(1);
  estimate.set_latency_p25_us(estimate.latency_us());
  estimate.set_latency_p75_us(estimate.latency_us());
  ASSIGN_OR_RETURN(const double floor_us, FloorMicroseconds(task_, which_, device_.facts()));
  estimate.set_floor_us(floor_us);
  if (estimate.latency_us() > 0) estimate.set_floor_share(floor_us / estimate.latency_us());
  *estimate.mutable_device() = device_.facts();
  *estimate.mutable_sizes() = which_.sizes();
  return estimate;
}

absl::Status SimulatedMeter::ReferenceFailed(v1::Comparison::Against against, const LaunchReport::Failure& failure) {
  return absl::InternalError(fmt::format("the {} of task {}, which the candidate is compared with, fails: {}",
                                         against == v1::Comparison::INCUMBENT ? "incumbent" : "baseline", task_.name(),
                                         failure.fault.message()));
}

v1::Comparison CompareLatencies(v1::Comparison::Against against, double candidate_us, double other_us) {
  const double ratio = other_us / candidate_us;
  v1::Comparison comparison;
  comparison.set_against(against);
  comparison.set_ratio(ratio);
  comparison.set_ratio_low(ratio);
  comparison.set_ratio_high(ratio);
  comparison.set_other_latency_us(other_us);
  comparison.set_verdict(VerdictOf({ratio, ratio, ratio}));
  return comparison;
}

absl::StatusOr<MeterReport> SimulatedMeter::Measure(const LoadableKernel& candidate, const LoadableKernel& oracle,
                                                    const std::vector<MeterReference>& references) {
  MeterReport report;
  ASSIGN_OR_RETURN(const std::unique_ptr<Bench> bench, Bench::Create(device_, task_, which_));
  if (!bench->HasOutput()) {
    return absl::InvalidArgumentError(
        fmt::format("the measured case of task {} has no output element: nothing can be measured", task_.name()));
  }
  RETURN_IF_ERROR(bench->DrawInputs(seed_));

  // Every kernel runs before the oracle, whose result is then the answer to all of them.
  ASSIGN_OR_RETURN(Estimated measured, Estimate(*bench, candidate, "candidate"));
  if (measured.failure) {
    report.failure = std::move(measured.failure);
    return report;
  }
  std::vector<Estimated> others;
  for (size_t i = 0; i < references.size(); ++i) {
    ASSIGN_OR_RETURN(Estimated other, Estimate(*bench, references[i].kernel, fmt::format("reference {}", i)));
    if (other.failure) return ReferenceFailed(references[i].against, *other.failure);
    others.push_back(std::move(other));
  }
  ASSIGN_OR_RETURN(const std::vector<HostBuffer> expected,
                   bench->RunOracle(oracle, DeriveSeed(seed_, "oracle"), options_.run_limit));

  ASSIGN_OR_RETURN(report.failure, Check(*bench, measured.run, expected));
  if (report.failure) return report;
  LaunchReport& found = measured.run.report;
  ASSIGN_OR_RETURN(report.measurement, Complete(*found.estimate));
  for (size_t i = 0; i < others.size(); ++i) {
    ASSIGN_OR_RETURN(const auto wrong, Check(*bench, others[i].run, expected));
    if (wrong) return ReferenceFailed(references[i].against, *wrong);
    report.comparisons.push_back(CompareLatencies(references[i].against, report.measurement->latency_us(),
                                                  others[i].run.report.estimate->latency_us()));
  }
  report.counters = std::move(found.counters);
  report.hints = std::move(found.hints);
  report.resources = std::move(measured.resources);
  const v1::Measurement& final = *report.measurement;
  if (final.latency_us() < final.floor_us()) {
    report.hints.push_back(fmt::format(
        "The estimate of {:.3g} us lies below the floor of {:.3g} us that memory and arithmetic allow: no hardware "
        "does "
        "that. Either the cost model is too kind to this kernel, or the task states more work than is needed.",
        final.latency_us(), final.floor_us()));
  }
  return report;
}

}  // namespace

absl::StatusOr<MeterReport> MeasureSimulated(Device& device, const v1::Task& task, const LoadableKernel& candidate,
                                             const LoadableKernel& oracle,
                                             const std::vector<MeterReference>& references,
                                             const JudgeOptions& options) {
  auto report = SimulatedMeter(device, task, options).Measure(candidate, oracle, references);
  if (!report.ok()) return WithContext(fmt::format("measuring task {}", task.name()), report.status());
  return report;
}

}  // namespace fsr
