// The pool of compiling children. NVRTC's front end is serialised within a process and cannot be cancelled, so work is
// spread over processes, and a deadline is kept by killing one.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/framed_channel.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "common/subprocess.h"
#include "fmt/format.h"
#include "fsr/v1/runner.pb.h"
#include "worker/compile/compile_child.h"
#include "worker/compile/compiler.h"
#include "worker/compile/module_conversion.h"
#include "worker/compile/toolkit.h"

namespace fsr {
namespace {

// A sanitizer reserves terabytes of addresses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kChildAddressSpaceBytesMax = 0;
#else
constexpr uint64_t kChildAddressSpaceBytesMax = uint64_t{6} << 30;
#endif
constexpr uint64_t kChildFileBytesMax = 1 << 20;  // it has nothing to write
// A child then makes room for a fresh one, so that what the library leaks stays small.
constexpr int kJobsPerChildMax = 500;
// Beyond process_count, so that who comes after a killed child does not wait for a start.
constexpr size_t kSpareChildren = 1;
constexpr absl::Duration kDeathWait = absl::Seconds(2);

struct Child {
  std::unique_ptr<Subprocess> process;
  int jobs = 0;
};

// How one job went in one child. `reply` is empty if the child was killed or died.
struct Exchange {
  std::optional<v1::CompileReply> reply;
  bool timed_out = false;
  std::string death;  // "was killed by signal 11 (Segmentation fault)"
};

Exchange Ask(Child& child, const v1::CompileJob& job, absl::Duration time_limit) {
  Exchange exchange;
  v1::CompileReply reply;
  ++child.jobs;
  absl::Status status = WriteFramed(child.process->channel_fd(), job);
  if (status.ok()) status = ReadFramed(child.process->channel_fd(), time_limit, &reply);
  if (status.ok()) {
    exchange.reply = std::move(reply);
    return exchange;
  }
  exchange.timed_out = absl::IsDeadlineExceeded(status);
  if (!exchange.timed_out) {
    std::optional<ExitStatus> ended = child.process->Wait(kDeathWait);
    exchange.death = ended ? ended->Describe() : MessageOf(status);
  }
  child.process->Kill();
  return exchange;
}

v1::CompileJob ToJob(const CompileRequest& request) {
  v1::CompileJob job;
  job.set_source(request.source);
  job.set_file_name(request.file_name);
  job.set_architecture(request.architecture);
  job.mutable_kernels()->Add(request.kernels.begin(), request.kernels.end());
  job.mutable_options()->Add(request.options.begin(), request.options.end());
  job.set_want_cubin(request.want_cubin);
  return job;
}

absl::StatusOr<CompileResult> ToResult(const v1::CompileReply& reply) {
  if (!reply.infrastructure_error().empty()) return absl::UnavailableError(reply.infrastructure_error());
  return CompileResult{.ok = reply.ok(),
                       .kernel = FromProto(reply.module()),
                       .log = reply.log(),
                       .timed_out = reply.limit_exceeded(),
                       .launch_error = reply.launch_error()};
}

class ProcessCompiler : public Compiler {
 public:
  ProcessCompiler(std::string worker_program, int process_count)
      : worker_program_(std::move(worker_program)), process_count_(static_cast<size_t>(std::max(process_count, 1))) {
    // What goes wrong here goes wrong again, and is said, at the first Compile.
    while (Replenish().ok() && Idle() < process_count_ + kSpareChildren) {
    }
  }

  absl::StatusOr<CompileResult> Compile(const CompileRequest& request) override {
    TakeSlot();
    const absl::Time start = absl::Now();
    absl::StatusOr<CompileResult> result = CompileInSlot(request);
    if (result.ok()) result->seconds = absl::ToDoubleSeconds(absl::Now() - start);
    absl::Status replenished = Replenish();
    GiveSlot();
    if (!result.ok() && !replenished.ok()) return replenished;
    return result;
  }

 private:
  absl::StatusOr<CompileResult> CompileInSlot(const CompileRequest& request) {
    const v1::CompileJob job = ToJob(request);
    std::string death;
    // A child may have died while it was idle, for no fault of this source: one more try.
    for (int attempt = 0; attempt < 2; ++attempt) {
      ASSIGN_OR_RETURN(Exchange exchange, AskSomeChild(job, request.time_limit));
      if (exchange.reply) return ToResult(*exchange.reply);
      if (exchange.timed_out) {
        return CompileResult{
            .log = fmt::format("The compiler was stopped after its limit of {:g} s. Use less unrolling "
                               "and fewer template instances.",
                               absl::ToDoubleSeconds(request.time_limit)),
            .timed_out = true};
      }
      death = exchange.death;
    }
    RETURN_IF_ERROR(CheckCompilerWorks(death));
    return CompileResult{
        .log =
            fmt::format("The compiler {} on this source: it ran out of memory (limit {} GiB) or processor time (limit "
                        "{} s), or has a defect. Make the source simpler.",
                        death, kChildAddressSpaceBytesMax >> 30, kCompileCpuSecondsMax),
        .timed_out = true};
  }

  // Whether the simplest kernel makes a child die, too: then the source was not to blame.
  absl::Status CheckCompilerWorks(std::string_view death) {
    v1::CompileJob job;
    job.set_source("__global__ void simplest() {}");
    job.set_architecture("sm_90a");
    ASSIGN_OR_RETURN(Exchange exchange, AskSomeChild(job, absl::Minutes(1)));
    if (exchange.reply) return absl::OkStatus();
    return absl::UnavailableError(
        fmt::format("The compiling process ({} --role=compile) {} whatever it is given.", worker_program_, death));
  }

  absl::StatusOr<Exchange> AskSomeChild(const v1::CompileJob& job, absl::Duration time_limit) {
    std::optional<Child> child = TakeIdle();
    if (!child) {
      ASSIGN_OR_RETURN(child, StartChild());
    }
    Exchange exchange = Ask(*child, job, time_limit);
    if (exchange.reply && child->jobs < kJobsPerChildMax) {
      absl::MutexLock lock(&mutex_);
      idle_.push_back(*std::move(child));
    }
    return exchange;
  }

  absl::StatusOr<Child> StartChild() const {
    // Only what the search for the compiler reads: no key or token of ours is within a candidate's reach.
    std::map<std::string, std::string> environment = {{"LANG", "C.UTF-8"}};
    for (const char* name : {"CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"}) {
      const char* value = std::getenv(name);
      if (value != nullptr) environment[name] = value;
    }
    ASSIGN_OR_RETURN(std::unique_ptr<Subprocess> process,
                     Subprocess::Start({.argv = {worker_program_, "--role=compile"},
                                        .environment = std::move(environment),
                                        .clear_environment = true,
                                        .connect_channel = true,
                                        .stdout_path = "/dev/null",
                                        .working_folder = working_folder_,
                                        .address_space_bytes_max = kChildAddressSpaceBytesMax,
                                        .file_bytes_max = kChildFileBytesMax}));
    return Child{.process = std::move(process)};
  }

  // Starts one child if the pool is short of one.
  absl::Status Replenish() {
    {
      absl::MutexLock lock(&mutex_);
      if (idle_.size() + BusyOthers() >= process_count_ + kSpareChildren) return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Child child, StartChild());
    absl::MutexLock lock(&mutex_);
    idle_.insert(idle_.begin(), std::move(child));  // the last to be taken, so that it is warm by then
    return absl::OkStatus();
  }

  std::optional<Child> TakeIdle() {
    absl::MutexLock lock(&mutex_);
    while (!idle_.empty()) {
      Child child = std::move(idle_.back());
      idle_.pop_back();
      if (child.process->Running()) return child;
    }
    return std::nullopt;
  }

  size_t Idle() {
    absl::MutexLock lock(&mutex_);
    return idle_.size();
  }
  bool SlotFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return busy_ < process_count_; }
  void TakeSlot() {
    absl::MutexLock lock(&mutex_, absl::Condition(this, &ProcessCompiler::SlotFree));
    ++busy_;
  }
  void GiveSlot() {
    absl::MutexLock lock(&mutex_);
    --busy_;
  }
  // Slots whose child is in use by another caller; the one that replenishes has put its own back, or lost it.
  size_t BusyOthers() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return busy_ > 0 ? busy_ - 1 : 0; }

  const std::string worker_program_;
  const size_t process_count_;
  // #include "x" also looks in the current folder: for the children that is one of the toolkit's.
  const std::string working_folder_ = [] {
    absl::StatusOr<Toolkit> toolkit = FindToolkit();
    if (!toolkit.ok()) return std::string("/");  // there is nothing to run in it either
    if (toolkit->include_folders.empty()) return std::filesystem::path(toolkit->nvrtc_path).parent_path().string();
    return toolkit->include_folders.front();
  }();

  absl::Mutex mutex_;
  size_t busy_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Child> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Compiler> NewProcessCompiler(std::string worker_program, int process_count) {
  return std::make_unique<ProcessCompiler>(std::move(worker_program), process_count);
}

}  // namespace fsr
