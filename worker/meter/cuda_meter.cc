#include "worker/meter/cuda_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "common/element_type.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "worker/judge/bench.h"
#include "worker/judge/output_check.h"
#include "worker/meter/cuda_sampler.h"
#include "worker/meter/gpu_lock.h"
#include "worker/meter/resources.h"
#include "worker/meter/wrong_when_measured.h"
#include "worker/profile/kernel_profiler.h"

namespace fsr {
namespace {

constexpr int kFloorSamples = 25;
// A launch whose output is compared may take so much longer than the median of the timed ones.
constexpr double kCheckedSlower = 1.25;
constexpr double kCheckedSlackUs = 2;
constexpr int kCheckedLaunchesMax = 5;

// One measurement: candidate (kernel 0) and references on one bench.
class CudaMeasurement {
 public:
  CudaMeasurement(cuda::CudaDevice& device, const v1::Task& task, const JudgeOptions& options,
                  const PhaseCallback& on_phase, const StoppingRule& rule)
      : device_(device),
        task_(task),
        which_(MeasuredCase(task, device.facts())),
        options_(options),
        on_phase_(on_phase),
        rule_(rule),
        random_(DeriveSeed(options.seed, "measurement")) {}

  absl::StatusOr<MeterReport> Run(const LoadableKernel& candidate, const LoadableKernel& oracle,
                                  const std::vector<MeterReference>& references);

 private:
  struct Kernel {
    std::unique_ptr<LoadedKernel> loaded;
    cuda::PreparedPlan plan;
    std::vector<double> microseconds;
  };

  absl::Status LoadKernel(const LoadableKernel& kernel);
  absl::Status WarmUp();
  absl::Status QueueFreshData(bool perturb);
  absl::Status QueuePoison();
  absl::Status SampleUntilEnough();
  absl::Status QueueCopiedPart(DeviceBuffer& source, const ResolvedBuffer& buffer);
  absl::Status CheckTimedLaunches(const LoadableKernel& oracle);
  absl::StatusOr<double> CheckTimedLaunch(const LoadableKernel& oracle);
  absl::StatusOr<CudaSampler::Batch> TimeOnce(bool perturb);
  absl::Status MeasureHot();
  absl::Status Report(const LoadableKernel& candidate, const std::vector<MeterReference>& references);
  void Profile();
  bool Failed() const { return report_.failure.has_value(); }

  cuda::CudaDevice& device_;
  const v1::Task& task_;
  const v1::Case& which_;
  const JudgeOptions& options_;
  const PhaseCallback& on_phase_;
  const StoppingRule rule_;
  SplitMix64 random_;
  std::unique_ptr<Bench> bench_;
  std::unique_ptr<CudaSampler> sampler_;
  std::vector<std::unique_ptr<DeviceBuffer>> shadows_;  // of INOUT buffers, by buffer; null for others
  std::vector<Kernel> kernels_;
  double empty_pair_us_ = 0;
  uint32_t throttled_count_ = 0;
  MeterReport report_;
  v1::Measurement measurement_;
};

absl::Status CudaMeasurement::LoadKernel(const LoadableKernel& kernel) {
  ASSIGN_OR_RETURN(Bench::LoadResult loaded, bench_->Load(kernel));
  Kernel ready;
  if (!loaded.failure) {
    ready.loaded = std::move(loaded.kernel);
    ASSIGN_OR_RETURN(auto prepared,
                     device_.Prepare(*ready.loaded->module, ready.loaded->plan, bench_->BuffersOf(*ready.loaded)));
    loaded.failure = prepared.failure;
    ready.plan = std::move(prepared.plan);
  }
  if (loaded.failure && !kernels_.empty()) {
    return absl::InternalError(
        fmt::format("A kernel to compare with cannot be launched: {}", loaded.failure->fault.message()));
  }
  report_.failure = loaded.failure;
  kernels_.push_back(std::move(ready));
  return absl::OkStatus();
}

// Data go to the device once, and every kernel runs once outside of any timing: its code is loaded then.
absl::Status CudaMeasurement::WarmUp() {
  RETURN_IF_ERROR(bench_->WriteInputs());
  shadows_.clear();
  for (size_t i = 0; i < bench_->buffers().size(); ++i) {
    shadows_.emplace_back();
    if (bench_->buffers()[i].role != v1::Parameter::INOUT) continue;
    ASSIGN_OR_RETURN(shadows_.back(), device_.Allocate("shadow", static_cast<size_t>(bench_->buffers()[i].bytes)));
    RETURN_IF_ERROR(shadows_.back()->Write(bench_->pristine(i).bytes()));
  }
  for (Kernel& kernel : kernels_) {
    report_.failure = device_.Enqueue(kernel.plan);
    if (auto failure = device_.Await(options_.run_limit); failure && !Failed()) report_.failure = failure;
    if (Failed()) return absl::OkStatus();
  }
  return absl::OkStatus();
}

// An eighth of the buffer becomes a copy of another eighth, from one half to the other: the few scattered elements of
// Perturb alone would change a sum by less than its tolerance. They are few so that a kernel that looks at some values
// to tell whether data are new seldom happens on one of them.
absl::Status CudaMeasurement::QueueCopiedPart(DeviceBuffer& source, const ResolvedBuffer& buffer) {
  const size_t element = SizeOf(buffer.type);
  const auto count = static_cast<uint64_t>(buffer.element_count);
  const uint64_t half = count / 2, length = count / 8;
  if (length == 0) return absl::OkStatus();
  uint64_t from = random_.Below(half - length + 1), to = half + random_.Below(count - half - length + 1);
  if (random_.Below(2) == 0) std::swap(from, to);
  return cuda::ToStatus(
      device_.driver(),
      device_.driver().MemcpyDtoDAsync(source.address() + to * element, source.address() + from * element,
                                       length * element, device_.stream()),
      "renewing a buffer");
}

// New values in every input; an INOUT buffer gets them from its shadow, since the last launch has changed it.
absl::Status CudaMeasurement::QueueFreshData(bool perturb) {
  const std::vector<DeviceBuffer*> buffers = bench_->BuffersOf(*kernels_[0].loaded);
  for (size_t i = 0; i < bench_->buffers().size(); ++i) {
    const ResolvedBuffer& buffer = bench_->buffers()[i];
    if (buffer.role == v1::Parameter::OUTPUT) continue;
    DeviceBuffer& source = shadows_[i] != nullptr ? *shadows_[i] : *buffers[i];
    if (perturb) {
      RETURN_IF_ERROR(sampler_->helpers().Perturb(source.address(), static_cast<uint64_t>(buffer.element_count),
                                                  static_cast<uint32_t>(SizeOf(buffer.type)), random_()));
    }
    if (perturb) RETURN_IF_ERROR(QueueCopiedPart(source, buffer));
    if (shadows_[i] == nullptr) continue;
    RETURN_IF_ERROR(cuda::ToStatus(
        device_.driver(),
        device_.driver().MemcpyDtoDAsync(buffers[i]->address(), source.address(), source.bytes(), device_.stream()),
        "restoring a buffer"));
  }
  return absl::OkStatus();
}

absl::Status CudaMeasurement::QueuePoison() {
  const std::vector<DeviceBuffer*> buffers = bench_->BuffersOf(*kernels_[0].loaded);
  for (size_t i = 0; i < bench_->buffers().size(); ++i) {
    if (bench_->buffers()[i].role != v1::Parameter::OUTPUT || buffers[i]->bytes() == 0) continue;
    // 0xFF.. is a NaN in every floating-point type and -1 in every integer one.
    RETURN_IF_ERROR(cuda::ToStatus(
        device_.driver(),
        device_.driver().MemsetD8Async(buffers[i]->address(), 0xFF, buffers[i]->bytes(), device_.stream()),
        "poisoning an output"));
  }
  return absl::OkStatus();
}

absl::StatusOr<CudaSampler::Batch> CudaMeasurement::TimeOnce(bool perturb) {
  std::vector<cuda::PreparedPlan*> plans;
  for (Kernel& kernel : kernels_) plans.push_back(&kernel.plan);
  std::vector<size_t> order(kernels_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
  return sampler_->Cold(
      plans, order,
      [&](size_t) {
        RETURN_IF_ERROR(QueueFreshData(perturb));
        return QueuePoison();
      },
      options_.run_limit);
}

absl::Status CudaMeasurement::SampleUntilEnough() {
  const absl::Time start = options_.clock->Now();
  int dropped = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const CudaSampler::Batch batch, TimeOnce(true));
    report_.failure = batch.failure;
    if (Failed()) return absl::OkStatus();
    const double seconds = absl::ToDoubleSeconds(options_.clock->Now() - start);
    if (batch.microseconds.empty()) {
      throttled_count_ += batch.throttled ? 1 : 0;
      // A GPU that stays slow is measured as it is; the count of dropped samples says so.
      if (++dropped > rule_.samples_max) {
        return absl::UnavailableError(
            fmt::format("The GPU's clock stays below {:.0f} % of its highest: {} samples were dropped. Is it throttled "
                        "by heat, power or other work?",
                        100 * kThrottleShare, dropped));
      }
      RETURN_IF_ERROR(sampler_->WakeUp());
      continue;
    }
    for (size_t i = 0; i < kernels_.size(); ++i) {
      kernels_[i].microseconds.push_back(std::max(batch.microseconds[i] - empty_pair_us_, 0.0));
    }
    std::vector<std::vector<double>> others;
    for (size_t i = 1; i < kernels_.size(); ++i) others.push_back(kernels_[i].microseconds);
    if (EnoughSamples(rule_, kernels_[0].microseconds, others, seconds)) return absl::OkStatus();
  }
}

// A kernel that keeps what it computed before, while some of the data look the same, is wrong in a launch that was as
// fast as the timed ones, and right in one that was not: a launch counts as checked only if it was as fast.
absl::Status CudaMeasurement::CheckTimedLaunches(const LoadableKernel& oracle) {
  const double median_us = Quantile(kernels_[0].microseconds, 0.5);
  double checked_us = 0;
  for (int launch = 0; launch < kCheckedLaunchesMax; ++launch) {
    ASSIGN_OR_RETURN(checked_us, CheckTimedLaunch(oracle));
    if (Failed() || checked_us <= kCheckedSlower * median_us + kCheckedSlackUs) return absl::OkStatus();
  }
  LaunchReport::Failure failure;
  failure.outcome = v1::REJECTED;
  failure.fault.set_kind("slower_when_checked");
  failure.fault.set_message(
      fmt::format("Launches whose output was compared took {:.3g} us, the timed ones {:.3g} us: the kernel does not do "
                  "the same work "
                  "every time.",
                  checked_us, median_us));
  report_.failure = failure;
  return absl::OkStatus();
}

// One launch that is timed like the others, and its output compared. Its time, with the empty pair taken off.
absl::StatusOr<double> CudaMeasurement::CheckTimedLaunch(const LoadableKernel& oracle) {
  RETURN_IF_ERROR(QueueFreshData(true));
  if (device_.Await(options_.run_limit)) return absl::UnavailableError("The GPU does not run the meter's own kernels.");
  RETURN_IF_ERROR(bench_->AdoptInputs());
  KernelRun run;
  run.poison.resize(bench_->buffers().size());
  cuda::PreparedPlan* plan = &kernels_[0].plan;
  const size_t order[] = {0};
  ASSIGN_OR_RETURN(const CudaSampler::Batch batch, sampler_->Cold(
                                                       {&plan, 1}, order,
                                                       [&](size_t) {
                                                         RETURN_IF_ERROR(QueueFreshData(false));
                                                         return QueuePoison();
                                                       },
                                                       options_.run_limit));
  report_.failure = batch.failure;
  if (Failed()) return 0.0;
  RETURN_IF_ERROR(bench_->Collect(*kernels_[0].loaded, run));
  report_.failure = run.report.failure;
  if (Failed()) return 0.0;
  ASSIGN_OR_RETURN(const std::vector<HostBuffer> expected, bench_->RunOracle(oracle, random_(), options_.run_limit));
  ASSIGN_OR_RETURN(OutputCheck check, CheckOutputs(*bench_, run, expected, nullptr));
  if (!check.mismatches.empty()) report_.failure = WrongWhenMeasured(task_, which_, std::move(check.mismatches));
  // A throttled launch has no time; its output counts.
  return batch.microseconds.empty() ? 0.0 : batch.microseconds[0] - empty_pair_us_;
}

absl::Status CudaMeasurement::MeasureHot() {
  RETURN_IF_ERROR(QueueFreshData(false));
  const double cold_us = std::max(Quantile(kernels_[0].microseconds, 0.5), 1.0);
  const int count =
      static_cast<int>(std::clamp(kHotSecondsMax * 1e6 / cold_us, double{kHotSamplesMin}, double{kHotSamplesMax}));
  ASSIGN_OR_RETURN(const CudaSampler::Batch hot, sampler_->Hot(kernels_[0].plan, count, options_.run_limit));
  report_.failure = hot.failure;
  if (!Failed()) measurement_.set_hot_latency_us(std::max(Quantile(hot.microseconds, 0.5) - empty_pair_us_, 0.0));
  return absl::OkStatus();
}

absl::Status CudaMeasurement::Report(const LoadableKernel& candidate, const std::vector<MeterReference>& references) {
  const Spread spread = SpreadOf(kernels_[0].microseconds);
  measurement_.set_latency_us(spread.median);
  measurement_.set_latency_p25_us(spread.p25);
  measurement_.set_latency_p75_us(spread.p75);
  measurement_.set_noise(spread.noise);
  measurement_.set_sample_count(static_cast<uint32_t>(kernels_[0].microseconds.size()));
  measurement_.set_throttled_count(throttled_count_);
  measurement_.set_event_floor_us(empty_pair_us_);
  ASSIGN_OR_RETURN(const double floor_us, FloorMicroseconds(task_, which_, device_.facts()));
  measurement_.set_floor_us(floor_us);
  if (spread.median > 0) measurement_.set_floor_share(floor_us / spread.median);
  *measurement_.mutable_device() = device_.facts();
  *measurement_.mutable_sizes() = which_.sizes();

  ASSIGN_OR_RETURN(const double least_us, ImpossibleBelowMicroseconds(task_, which_, device_.facts()));
  if (spread.median < (1 - kFloorSlack) * least_us) {
    LaunchReport::Failure failure;
    failure.outcome = v1::REJECTED;
    failure.fault.set_kind("faster_than_hardware");
    failure.fault.set_message(
        fmt::format("The kernel was timed at {:.3g} us, but {} cannot do the task's work in less than {:.3g} us: it "
                    "does not do all of it, or "
                    "the task states more work than is needed.",
                    spread.median, device_.facts().name(), least_us));
    report_.failure = failure;
    return absl::OkStatus();
  }
  for (size_t i = 1; i < kernels_.size(); ++i) {
    const LatencyRatio ratio = RatioOf(kernels_[0].microseconds, kernels_[i].microseconds);
    v1::Comparison comparison;
    comparison.set_against(references[i - 1].against);
    comparison.set_ratio(ratio.ratio);
    comparison.set_ratio_low(ratio.low);
    comparison.set_ratio_high(ratio.high);
    comparison.set_verdict(VerdictOf(ratio));
    comparison.set_other_latency_us(SpreadOf(kernels_[i].microseconds).median);
    report_.comparisons.push_back(comparison);
  }
  report_.resources = ResourcesOf(candidate.compiled, kernels_[0].loaded->plan);
  report_.measurement = measurement_;
  return absl::OkStatus();
}

// Why it is as fast as it is. Nothing here fails the measurement: what could not be had is said in a hint.
void CudaMeasurement::Profile() {
  on_phase_("counters");
  v1::Measurement& measurement = *report_.measurement;
  ProfileRequest request;
  request.plan = &kernels_[0].plan;
  request.before = [this] {
    RETURN_IF_ERROR(QueueFreshData(false));
    RETURN_IF_ERROR(QueuePoison());
    return sampler_->FlushL2();
  };
  request.facts = {.device = device_.facts(),
                   .resources = report_.resources,
                   .latency_us = measurement.latency_us(),
                   .floor_us = measurement.floor_us()};
  DescribeWork(task_, which_, &request.facts);
  const auto& required = task_.required_instructions();
  request.instructions.assign(required.begin(), required.end());
  request.run_limit = options_.run_limit;
  ProfileReport profile = ProfileKernel(device_, request);
  report_.counters = std::move(profile.counters);
  report_.hints.insert(report_.hints.end(), profile.hints.begin(), profile.hints.end());
  report_.executed_instructions = std::move(profile.executed_instructions);
  measurement.set_limited_by(profile.limited_by);
}

absl::StatusOr<MeterReport> CudaMeasurement::Run(const LoadableKernel& candidate, const LoadableKernel& oracle,
                                                 const std::vector<MeterReference>& references) {
  ASSIGN_OR_RETURN(bench_, Bench::Create(device_, task_, which_));
  if (!bench_->HasOutput()) {
    return absl::InvalidArgumentError(
        fmt::format("The measured case of task {} has no output element: nothing can be measured.", task_.name()));
  }
  RETURN_IF_ERROR(bench_->DrawInputs(random_()));
  RETURN_IF_ERROR(LoadKernel(candidate));
  for (const MeterReference& reference : references) {
    if (!Failed()) RETURN_IF_ERROR(LoadKernel(reference.kernel));
  }
  if (Failed()) return report_;
  ASSIGN_OR_RETURN(sampler_, CudaSampler::Create(device_));
  RETURN_IF_ERROR(WarmUp());
  if (Failed()) return report_;
  ASSIGN_OR_RETURN(empty_pair_us_, sampler_->EmptyPairMicroseconds(kFloorSamples));
  RETURN_IF_ERROR(SampleUntilEnough());
  if (!Failed()) RETURN_IF_ERROR(CheckTimedLaunches(oracle));
  if (!Failed()) RETURN_IF_ERROR(MeasureHot());
  if (!Failed()) RETURN_IF_ERROR(Report(candidate, references));
  if (!Failed()) Profile();
  return report_;
}

}  // namespace

absl::StatusOr<MeterReport> MeasureCuda(cuda::CudaDevice& device, const v1::Task& task, const LoadableKernel& candidate,
                                        const LoadableKernel& oracle, const std::vector<MeterReference>& references,
                                        const JudgeOptions& options, const PhaseCallback& on_phase,
                                        const StoppingRule& rule) {
  ASSIGN_OR_RETURN(const auto lock, GpuLock::Take(device.facts().uuid()));
  return CudaMeasurement(device, task, options, on_phase, rule).Run(candidate, oracle, references);
}

}  // namespace fsr
