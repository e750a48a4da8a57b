#include "worker/agent/agent.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/status.h"
#include "fmt/format.h"

namespace fsr {
namespace {

// The run thread looks for work that often, to notice an unhealthy device.
constexpr absl::Duration kIdleLook = absl::Seconds(1);

bool MayHeal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
      return false;
    default:
      return true;
  }
}

// One line for each evaluation.
void Log(const v1::Evaluation& evaluation) {
  std::string phases;
  for (const v1::PhaseTime& phase : evaluation.phases()) {
    phases += fmt::format(" {} {:.3f}s", phase.phase(), phase.end_s() - phase.start_s());
  }
  const std::string latency = evaluation.has_measurement()
                                  ? fmt::format(" {:.4g} us{}", evaluation.measurement().latency_us(),
                                                evaluation.measurement().estimated() ? " (estimate)" : "")
                                  : " " + evaluation.signature();
  spdlog::info("evaluation {} attempt {}: {}{};{}{}", evaluation.id(), evaluation.attempt(),
               v1::Outcome_Name(evaluation.outcome()), latency, phases,
               evaluation.compile_cache_hit() ? " (compiled before)" : "");
}

}  // namespace

Agent::Agent(Options options, Evaluator* evaluator, CoordinatorLink* link, Clock* clock)
    : options_(std::move(options)),
      evaluator_(evaluator),
      link_(link),
      clock_(clock),
      board_(std::max<size_t>(options_.lease_count_max, 1), clock) {}

absl::Status Agent::Run() {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::max<size_t>(options_.lease_count_max, 1); ++i) {
    threads.emplace_back([this] { PrepareLoop(); });
  }
  threads.emplace_back([this] { RunLoop(); });
  absl::Status status = TalkUntilDrained();
  board_.Stop();
  for (std::thread& thread : threads) thread.join();
  return status;
}

void Agent::Drain() {
  draining_ = true;
  board_.Drain();
  link_->Interrupt();
}

v1::SynchronizeRequest Agent::MakeRequest() {
  v1::SynchronizeRequest request;
  request.set_worker_id(options_.worker_id);
  request.set_boot_id(options_.boot_id);
  *request.mutable_device() = evaluator_->facts();
  v1::WorkerStatistics& statistics = *request.mutable_statistics();
  statistics.set_evaluation_count(evaluation_count_);
  statistics.set_compile_count(compile_count_);
  statistics.set_compile_cache_hit_count(compile_cache_hit_count_);
  statistics.set_child_restart_count(evaluator_->child_restart_count());
  board_.Report(&request);
  return request;
}

absl::Status Agent::TalkUntilDrained() {
  SplitMix64 jitter(options_.jitter_seed);
  absl::Duration retry_delay = kRetryDelayFirst;
  absl::Time drain_deadline = absl::InfiniteFuture();
  bool greeted = false;
  for (;;) {
    if (draining_ && drain_deadline == absl::InfiniteFuture()) drain_deadline = clock_->Now() + kDrainMax;
    if (clock_->Now() > drain_deadline) return absl::OkStatus();
    const v1::SynchronizeRequest request = MakeRequest();
    absl::StatusOr<v1::SynchronizeResponse> response = link_->Synchronize(request);
    if (!response.ok()) {
      if (draining_ && absl::IsCancelled(response.status())) continue;  // Drain() ended a long poll
      if (!greeted && !MayHeal(response.status())) return response.status();
      spdlog::warn("the coordinator cannot be reached, trying again: {}", MessageOf(response.status()));
      board_.Pause(retry_delay * (1 - jitter.Uniform() / 2));
      retry_delay = std::min(2 * retry_delay, kRetryDelayMax);
      continue;
    }
    greeted = true;
    retry_delay = kRetryDelayFirst;
    board_.Apply(*response);
    if (draining_ && request.draining() && board_.Drained()) return absl::OkStatus();
    // Whoever has nothing left to do goes straight into the long poll.
    const bool became_idle = request.leases_size() > 0 && board_.empty();
    const absl::Duration pause = absl::Seconds(response->next_contact_seconds());
    board_.AwaitNews(became_idle ? absl::ZeroDuration() : std::clamp(pause, kContactIntervalMin, kContactIntervalMax));
  }
}

void Agent::PrepareLoop() {
  while (std::shared_ptr<LeasedWork> work = board_.TakeQueued()) {
    auto prepared = evaluator_->Prepare(work->assignment.spec());
    ++compile_count_;
    if (prepared.ok()) {
      board_.SetPrepared(*work, *std::move(prepared));
    } else {
      GiveBack(*work, prepared.status());
    }
  }
}

void Agent::RunLoop() {
  absl::Time next_health_check = clock_->Now() + kHealthCheckInterval;
  while (!board_.stopped()) {
    std::shared_ptr<LeasedWork> work = board_.TakePrepared(kIdleLook);
    if (work != nullptr) {
      RunOne(*work);
      next_health_check = clock_->Now() + kHealthCheckInterval;
    } else if (!board_.healthy() && clock_->Now() >= next_health_check) {
      CheckHealth();
      next_health_check = clock_->Now() + kHealthCheckInterval;
    }
  }
}

void Agent::RunOne(LeasedWork& work) {
  absl::StatusOr<v1::Evaluation> evaluation =
      evaluator_->Run(work.prepared, [&](std::string_view phase) { board_.SetPhase(work, std::string(phase)); });
  if (!evaluation.ok()) {
    GiveBack(work, evaluation.status());
    return;
  }
  evaluation->set_id(work.assignment.evaluation_id());
  evaluation->set_attempt(work.assignment.attempt());
  evaluation->set_worker(options_.worker_id);
  ++evaluation_count_;
  if (evaluation->compile_cache_hit()) ++compile_cache_hit_count_;
  Log(*evaluation);
  board_.Finish(work, *std::move(evaluation));
}

void Agent::GiveBack(LeasedWork& work, const absl::Status& status) {
  if (absl::IsCancelled(status)) {
    board_.Return(work, "cancelled");
    return;
  }
  if (absl::IsFailedPrecondition(status)) {
    FinishAsTaskFault(work, MessageOf(status));
    return;
  }
  spdlog::warn("evaluation {} attempt {} is given back: {}", work.assignment.evaluation_id(), work.assignment.attempt(),
               MessageOf(status));
  board_.Return(work, MessageOf(status));
  if (absl::IsUnavailable(status)) board_.SetUnhealthy(MessageOf(status));
}

// No other worker could do better: the answer is final, and says nothing about the kernel.
void Agent::FinishAsTaskFault(LeasedWork& work, const std::string& sentence) {
  spdlog::warn("evaluation {}: the task is at fault: {}", work.assignment.evaluation_id(), sentence);
  v1::Evaluation evaluation;
  evaluation.set_id(work.assignment.evaluation_id());
  evaluation.set_attempt(work.assignment.attempt());
  evaluation.set_worker(options_.worker_id);
  evaluation.set_outcome(v1::UNSUPPORTED);
  evaluation.set_signature("task_fault");
  evaluation.set_diagnosis(sentence);
  board_.Finish(work, std::move(evaluation));
}

void Agent::CheckHealth() {
  absl::Status health = evaluator_->CheckHealth();
  if (health.ok()) spdlog::info("the device works again");
  board_.SetUnhealthy(MessageOf(health));
}

}  // namespace fsr
