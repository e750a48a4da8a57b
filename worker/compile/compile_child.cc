#include "worker/compile/compile_child.h"

#include <sys/resource.h>

#include <memory>

#include "common/framed_channel.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "worker/compile/nvrtc.h"

namespace fsr {
namespace {

absl::StatusOr<std::unique_ptr<Nvrtc>> OpenCompiler() {
  ASSIGN_OR_RETURN(Toolkit toolkit, FindToolkit());
  return Nvrtc::Open(toolkit);
}

// The first compile of a process pays for what the library sets up; better before there is a job.
void WarmUp(Nvrtc& compiler) {
  v1::CompileJob job;
  job.set_source("extern \"C\" __global__ void warm_up(float* x) { x[threadIdx.x] = 1; }");
  job.set_file_name("warm_up.cu");
  job.set_architecture("sm_90a");
  job.set_want_cubin(true);
  compiler.Compile(job);
}

// The limit counts from the start of the process, so it moves on with every job. SIGXCPU then ends the process.
void GrantProcessorTime() {
  rusage used = {};
  rlimit limit = {};
  if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0) return;
  limit.rlim_cur = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + kCompileCpuSecondsMax;
  setrlimit(RLIMIT_CPU, &limit);
}

}  // namespace

absl::Status ServeCompileJobs(int channel_fd) {
  absl::StatusOr<std::unique_ptr<Nvrtc>> compiler = OpenCompiler();
  if (compiler.ok()) WarmUp(**compiler);
  for (;;) {
    v1::CompileJob job;
    absl::Status status = ReadFramed(channel_fd, absl::InfiniteDuration(), &job);
    if (absl::IsUnavailable(status)) return absl::OkStatus();
    RETURN_IF_ERROR(status);
    GrantProcessorTime();
    v1::CompileReply reply;
    if (compiler.ok()) {
      reply = (*compiler)->Compile(job);
    } else {
      reply.set_infrastructure_error(MessageOf(compiler.status()));
    }
    RETURN_IF_ERROR(WriteFramed(channel_fd, reply));
  }
}

}  // namespace fsr
