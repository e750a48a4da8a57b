#include "worker/meter/cuda_sampler.h"

#include <algorithm>

#include "common/status_macros.h"
#include "worker/meter/statistics.h"

namespace fsr {
namespace {

using cuda::ToStatus;

// Longer than the host needs to queue a batch, short enough that a stopped host does not hold the GPU.
constexpr uint64_t kBlockLimitNs = 2'000'000'000;
constexpr uint64_t kClockSpinNs = 20'000;
constexpr absl::Duration kOwnWorkLimit = absl::Seconds(10);
constexpr uint32_t kWakeUpRounds = 20'000;

}  // namespace

absl::StatusOr<std::unique_ptr<CudaSampler>> CudaSampler::Create(cuda::CudaDevice& device) {
  auto sampler = std::unique_ptr<CudaSampler>(new CudaSampler(device));
  ASSIGN_OR_RETURN(sampler->helpers_, cuda::HelperKernels::Load(device.driver(), device.stream()));
  ASSIGN_OR_RETURN(sampler->sweeper_, cuda::CacheSweeper::Create(device));
  // Code is loaded at its first launch, which cannot happen behind a blocking kernel: each runs once now.
  RETURN_IF_ERROR(sampler->helpers_->Block(1));
  RETURN_IF_ERROR(sampler->helpers_->MeasureClock(1));
  RETURN_IF_ERROR(sampler->helpers_->PerturbOwn());
  RETURN_IF_ERROR(sampler->helpers_->Empty());
  RETURN_IF_ERROR(sampler->FlushL2());
  RETURN_IF_ERROR(sampler->WakeUp());
  return sampler;
}

CudaSampler::~CudaSampler() {
  if (device_.broken()) return;
  for (CUevent event : events_) device_.driver().EventDestroy(event);
}

absl::Status CudaSampler::WakeUp() {
  RETURN_IF_ERROR(helpers_->FmaStorm(device_.facts().sm_count() * 4, kWakeUpRounds));
  if (device_.Await(kOwnWorkLimit)) return absl::UnavailableError("The GPU does not run the meter's own kernels.");
  return absl::OkStatus();
}

absl::Status CudaSampler::NeedEvents(size_t count) {
  while (events_.size() < count) {
    CUevent event = nullptr;
    RETURN_IF_ERROR(
        ToStatus(device_.driver(), device_.driver().EventCreate(&event, CU_EVENT_DEFAULT), "making an event"));
    events_.push_back(event);
  }
  return absl::OkStatus();
}

absl::StatusOr<double> CudaSampler::Elapsed(size_t pair) {
  float milliseconds = 0;
  RETURN_IF_ERROR(ToStatus(device_.driver(),
                           device_.driver().EventElapsedTime(&milliseconds, events_[2 * pair], events_[2 * pair + 1]),
                           "reading events"));
  return 1e3 * static_cast<double>(milliseconds);
}

absl::StatusOr<CudaSampler::Batch> CudaSampler::Cold(std::span<cuda::PreparedPlan* const> plans,
                                                     std::span<const size_t> order,
                                                     const std::function<absl::Status(size_t)>& before,
                                                     absl::Duration time_limit) {
  const cuda::Driver& driver = device_.driver();
  Batch batch;
  RETURN_IF_ERROR(NeedEvents(2 * plans.size()));
  // A kernel may have asked for lines to stay in L2: nothing of that survives.
  RETURN_IF_ERROR(ToStatus(driver, driver.CtxResetPersistingL2Cache(), "resetting the persisting L2 cache"));
  RETURN_IF_ERROR(helpers_->Block(kBlockLimitNs));
  absl::Status queued;
  for (const size_t index : order) {
    queued.Update(before(index));
    queued.Update(FlushL2());
    queued.Update(ToStatus(driver, driver.EventRecord(events_[2 * index], device_.stream()), "recording an event"));
    if (!batch.failure) batch.failure = device_.Enqueue(*plans[index]);
    queued.Update(ToStatus(driver, driver.EventRecord(events_[2 * index + 1], device_.stream()), "recording an event"));
  }
  queued.Update(helpers_->MeasureClock(kClockSpinNs));
  helpers_->Release();
  const auto failure = device_.Await(static_cast<double>(plans.size()) * time_limit);
  if (!batch.failure) batch.failure = failure;
  if (batch.failure) return batch;
  RETURN_IF_ERROR(queued);
  batch.throttled = helpers_->ClockMhz() < kThrottleShare * device_.facts().sm_clock_mhz();
  if (batch.throttled || !helpers_->ReleasedInTime()) return batch;
  for (size_t i = 0; i < plans.size(); ++i) {
    ASSIGN_OR_RETURN(const double us, Elapsed(i));
    batch.microseconds.push_back(us);
  }
  return batch;
}

absl::StatusOr<CudaSampler::Batch> CudaSampler::Hot(cuda::PreparedPlan& plan, int count, absl::Duration time_limit) {
  const cuda::Driver& driver = device_.driver();
  Batch batch;
  const size_t pairs = static_cast<size_t>(count);
  RETURN_IF_ERROR(NeedEvents(2 * pairs + 2));
  RETURN_IF_ERROR(helpers_->Block(kBlockLimitNs));
  batch.failure = device_.Enqueue(plan);  // warms the cache
  absl::Status queued;
  for (size_t i = 0; i < pairs && !batch.failure; ++i) {
    queued.Update(ToStatus(driver, driver.EventRecord(events_[2 * i], device_.stream()), "recording an event"));
    batch.failure = device_.Enqueue(plan);
    queued.Update(ToStatus(driver, driver.EventRecord(events_[2 * i + 1], device_.stream()), "recording an event"));
  }
  helpers_->Release();
  const auto failure = device_.Await((count + 1) * time_limit);
  if (!batch.failure) batch.failure = failure;
  if (batch.failure) return batch;
  RETURN_IF_ERROR(queued);
  for (size_t i = 0; i < pairs; ++i) {
    ASSIGN_OR_RETURN(const double us, Elapsed(i));
    batch.microseconds.push_back(us);
  }
  return batch;
}

absl::StatusOr<std::vector<double>> CudaSampler::Empty(int count, bool kernel) {
  const cuda::Driver& driver = device_.driver();
  const size_t pairs = static_cast<size_t>(count);
  RETURN_IF_ERROR(NeedEvents(2 * pairs));
  RETURN_IF_ERROR(helpers_->Block(kBlockLimitNs));
  absl::Status queued;
  for (size_t i = 0; i < pairs; ++i) {
    queued.Update(ToStatus(driver, driver.EventRecord(events_[2 * i], device_.stream()), "recording an event"));
    if (kernel) queued.Update(helpers_->Empty());
    queued.Update(ToStatus(driver, driver.EventRecord(events_[2 * i + 1], device_.stream()), "recording an event"));
  }
  helpers_->Release();
  if (device_.Await(kOwnWorkLimit)) return absl::UnavailableError("The GPU does not run the meter's own kernels.");
  RETURN_IF_ERROR(queued);
  std::vector<double> samples;
  for (size_t i = 0; i < pairs; ++i) {
    ASSIGN_OR_RETURN(const double us, Elapsed(i));
    samples.push_back(us);
  }
  return samples;
}

absl::StatusOr<double> CudaSampler::EmptyPairMicroseconds(int count) {
  ASSIGN_OR_RETURN(const std::vector<double> samples, Empty(count, false));
  return Quantile(samples, 0.5);
}

absl::StatusOr<double> CudaSampler::EmptyKernelMicroseconds(int count) {
  ASSIGN_OR_RETURN(const std::vector<double> samples, Empty(count, true));
  return Quantile(samples, 0.5);
}

}  // namespace fsr
