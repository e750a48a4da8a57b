#include "worker/runner/evaluate.h"

#include <optional>
#include <utility>

#include "common/clock.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"
#include "worker/runner/device_child.h"
#include "worker/runner/diagnosis.h"
#include "worker/runner/preparation.h"

namespace fsr {
namespace {

// How often a run looks whether it was cancelled or has passed its limit.
constexpr absl::Duration kWatchInterval = absl::Milliseconds(50);
// Then a child makes room for a fresh one, so that nothing piles up in it.
constexpr int kRunsPerChildMax = 1000;
// A child that dies is blamed on the kernel only if that happens again in a fresh one.
constexpr int kDeathsMax = 2;

// One request in one child, watched until its end.
class WatchedRun {
 public:
  enum class End { kEvaluated, kDied, kTimedOut, kCancelled, kFailed };

  WatchedRun(DeviceChild& child, PreparedEvaluation& prepared, const std::function<void(std::string_view)>& on_phase)
      : child_(child), prepared_(prepared), on_phase_(on_phase) {}

  End Run() {
    const absl::Time deadline = SystemClock()->Now() + prepared_.total_limit;
    if (!child_.Send(prepared_.request).ok()) return End::kDied;
    for (;;) {
      if (prepared_.cancelled()) return Finish(End::kCancelled);
      if (SystemClock()->Now() > deadline) return Finish(End::kTimedOut);
      auto received = child_.Receive(kWatchInterval);
      if (!received.ok()) return Finish(End::kDied);
      if (!received->has_value()) continue;
      reply_ = *std::move(*received);
      if (reply_.what_case() != v1::RunReply::kPhase) break;
      EnterPhase(reply_.phase());
    }
    return Finish(reply_.has_evaluation() ? End::kEvaluated : End::kFailed);
  }

  const std::string& phase() const { return phase_; }
  v1::RunReply& reply() { return reply_; }

 private:
  void EnterPhase(const std::string& phase) {
    EndPhase();
    phase_ = phase;
    phase_start_ = SystemClock()->Now();
    on_phase_(phase);
  }
  void EndPhase() {
    if (phase_.empty()) return;
    *prepared_.evaluation.add_phases() = PhaseOf(phase_, prepared_.start, phase_start_, SystemClock()->Now());
  }
  End Finish(End end) {
    EndPhase();
    return end;
  }

  DeviceChild& child_;
  PreparedEvaluation& prepared_;
  const std::function<void(std::string_view)>& on_phase_;
  std::string phase_;
  absl::Time phase_start_;
  v1::RunReply reply_;
};

class EvaluatorInChildren : public Evaluator {
 public:
  EvaluatorInChildren(const Options& options, Compiler* compiler) : options_(options), compiler_(compiler) {}

  absl::Status Open() {
    RETURN_IF_ERROR(MakeReady());
    facts_ = child_->facts();
    return absl::OkStatus();
  }

  const v1::DeviceFacts& facts() const override { return facts_; }

  absl::StatusOr<std::shared_ptr<Prepared>> Prepare(const v1::EvaluationSpec& spec) override {
    ASSIGN_OR_RETURN(std::shared_ptr<PreparedEvaluation> prepared,
                     PrepareEvaluation(spec, facts_.architecture(), *compiler_));
    return std::shared_ptr<Prepared>(std::move(prepared));
  }

  absl::StatusOr<v1::Evaluation> Run(std::shared_ptr<Prepared> base,
                                     const std::function<void(std::string_view)>& on_phase) override {
    auto& prepared = static_cast<PreparedEvaluation&>(*base);  // Prepare makes no others
    v1::Evaluation& evaluation = prepared.evaluation;
    if (evaluation.outcome() != v1::OUTCOME_UNSPECIFIED) return evaluation;
    const absl::Time now = SystemClock()->Now();
    *evaluation.add_phases() = PhaseOf("queue", prepared.start, prepared.prepared_at, now);
    for (int deaths = 0;;) {
      absl::Status ready = MakeReady();
      if (!ready.ok()) return CountFailure(ready);
      WatchedRun run(*child_, prepared, on_phase);
      const WatchedRun::End end = run.Run();
      ++runs_of_child_;
      if (end == WatchedRun::End::kDied && ++deaths < kDeathsMax) {
        DropChild();
        continue;
      }
      return Conclude(end, run, prepared);
    }
  }

  absl::Status CheckHealth() override {
    CompileRequest request;
    request.source = "extern \"C\" __global__ void check(float* x) { x[threadIdx.x] = 1; }";
    request.file_name = "check.cu";
    request.architecture = facts_.architecture();
    request.kernels = {"check"};
    RETURN_IF_ERROR(compiler_->Compile(request).status());
    RETURN_IF_ERROR(MakeReady());
    failures_in_a_row_ = 0;
    return absl::OkStatus();
  }

  uint64_t child_restart_count() const override { return child_restart_count_; }

 private:
  // child_ is there and has its device; spare_ is on its way.
  absl::Status MakeReady() {
    if (runs_of_child_ >= kRunsPerChildMax || (child_ != nullptr && !child_->Running())) DropChild();
    if (child_ == nullptr) {
      runs_of_child_ = 0;
      child_ = std::move(spare_);
      if (child_ == nullptr || !child_->Running()) {
        ASSIGN_OR_RETURN(child_, DeviceChild::Start(options_.worker_program, options_.device));
      }
    }
    absl::Status ready = child_->AwaitReady();
    if (!ready.ok()) {
      DropChild();
      spare_.reset();  // it has most likely met the same
      return ready;
    }
    if (spare_ == nullptr) {
      ASSIGN_OR_RETURN(spare_, DeviceChild::Start(options_.worker_program, options_.device));
    }
    return absl::OkStatus();
  }

  void DropChild() {
    if (child_ != nullptr) ++child_restart_count_;
    child_.reset();
  }

  // What an evaluation comes to. The child is dropped unless it can go on.
  absl::StatusOr<v1::Evaluation> Conclude(WatchedRun::End end, WatchedRun& run, PreparedEvaluation& prepared) {
    v1::Evaluation& evaluation = prepared.evaluation;
    const std::string phase = run.phase().empty() ? "start" : run.phase();
    switch (end) {
      case WatchedRun::End::kEvaluated:
        failures_in_a_row_ = 0;
        if (run.reply().device_broken()) DropChild();
        evaluation.MergeFrom(run.reply().evaluation());
        return evaluation;
      case WatchedRun::End::kCancelled:
        DropChild();
        return absl::CancelledError("The evaluation was cancelled.");
      case WatchedRun::End::kTimedOut:
        DropChild();
        DescribeRefusal(v1::TIMEOUT, "total_limit",
                        fmt::format("The evaluation was stopped after its limit of {:g} s, in the phase \"{}\".",
                                    absl::ToDoubleSeconds(prepared.total_limit), phase),
                        &evaluation);
        return evaluation;
      case WatchedRun::End::kDied: {
        const std::string how = child_->End();
        DropChild();
        if (run.phase().empty()) return CountFailure(absl::UnavailableError("The device's process " + how + "."));
        DescribeRefusal(
            v1::RUNTIME_FAULT, "process_died",
            fmt::format("The kernel ended the process that ran it, twice: it {}, in the phase \"{}\".", how, phase),
            &evaluation);
        return evaluation;
      }
      case WatchedRun::End::kFailed:
        break;
    }
    if (run.reply().device_broken()) DropChild();
    const std::string& why = run.reply().infrastructure_error();
    if (run.reply().task_fault()) return absl::FailedPreconditionError(why);
    DropChild();
    return CountFailure(absl::UnavailableError(why));
  }

  // A single failure may be chance: only the last of several in a row is UNAVAILABLE.
  absl::Status CountFailure(const absl::Status& failure) {
    if (++failures_in_a_row_ < kDeviceFaultsMax) return absl::InternalError(MessageOf(failure));
    return absl::UnavailableError(fmt::format("The device {} has failed {} times in a row, the last time with: {}",
                                              options_.device, failures_in_a_row_, MessageOf(failure)));
  }

  const Options options_;
  Compiler* const compiler_;
  v1::DeviceFacts facts_;
  std::unique_ptr<DeviceChild> child_, spare_;
  int runs_of_child_ = 0;
  int failures_in_a_row_ = 0;
  std::atomic<uint64_t> child_restart_count_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Evaluator>> Evaluator::Create(const Options& options, Compiler* compiler) {
  auto evaluator = std::make_unique<EvaluatorInChildren>(options, compiler);
  RETURN_IF_ERROR(WithContext(fmt::format("opening {}", options.device), evaluator->Open()));
  return std::unique_ptr<Evaluator>(std::move(evaluator));
}

}  // namespace fsr
