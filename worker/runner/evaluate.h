// One evaluation from spec to result: plan, compile, judge, measure. Runs the last two in a child that owns the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "fsr/v1/evaluation.pb.h"
#include "worker/compile/compiler.h"

namespace fsr {

// Default limits, where EvaluationSpec.limits says 0, and the largest that a spec may ask for.
inline constexpr double kCompileSecondsDefault = 30;
inline constexpr double kRunSecondsDefault = 10;
inline constexpr double kTotalSecondsDefault = 120;
inline constexpr double kLimitSecondsMax = 3600;
// The limit of the whole counts from the start of judging; compiling and waiting for the device have their own.

// Failures in a row that are the device's, or its child's, before the worker is unhealthy.
inline constexpr int kDeviceFaultsMax = 3;

// Safe for use by one thread at a time for Run; Prepare may run on others meanwhile (compile ahead).
class Evaluator {
 public:
  struct Options {
    std::string device;          // "sim:h200"
    std::string worker_program;  // path of fsr-worker, for the children
  };
  // `compiler` must outlive it.
  static absl::StatusOr<std::unique_ptr<Evaluator>> Create(const Options& options, Compiler* compiler);
  virtual ~Evaluator() = default;

  virtual const v1::DeviceFacts& facts() const = 0;

  // An evaluation that is ready to run. May be cancelled at any time and from any thread.
  class Prepared {
   public:
    virtual ~Prepared() = default;
    void Cancel() { cancelled_ = true; }
    bool cancelled() const { return cancelled_; }

   private:
    std::atomic<bool> cancelled_ = false;
  };
  // Plans and compiles candidate, oracle and references. What is wrong with the candidate is already an outcome.
  // FAILED_PRECONDITION: the task's oracle or a reference is what is wrong. UNAVAILABLE: there is no compiler.
  virtual absl::StatusOr<std::shared_ptr<Prepared>> Prepare(const v1::EvaluationSpec& spec) = 0;

  // Judges and measures in a child; `on_phase` tells what it is doing. A child that dies or hangs gives a TIMEOUT or
  // RUNTIME_FAULT outcome and is replaced. An error is trouble of ours: give the lease back. FAILED_PRECONDITION: the
  // task's fault. CANCELLED: `prepared` was; the child is killed. UNAVAILABLE: the device has failed
  // kDeviceFaultsMax times in a row, or cannot be opened.
  virtual absl::StatusOr<v1::Evaluation> Run(std::shared_ptr<Prepared> prepared,
                                             const std::function<void(std::string_view)>& on_phase) = 0;

  // Whether compiler and device work now, after Prepare or Run said UNAVAILABLE. Not while Run is running.
  virtual absl::Status CheckHealth() = 0;

  // Children that had to be replaced so far.
  virtual uint64_t child_restart_count() const = 0;
};

// What `fsr-worker --role=run` does: serves RunRequests on Subprocess::kChannelFd until it closes.
int RunnerMain(std::string_view device_name);
// What `fsr-worker --role=compile` does.
int CompileChildMain();

}  // namespace fsr
