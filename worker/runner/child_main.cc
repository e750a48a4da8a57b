// The two kinds of children, as programs.
#include <cstdio>
#include <memory>
#include <string>

#include "common/framed_channel.h"
#include "common/status.h"
#include "common/subprocess.h"
#include "fmt/format.h"
#include "fsr/v1/runner.pb.h"
#include "worker/compile/compile_child.h"
#include "worker/device/cuda/cuda_device.h"
#include "worker/device/device.h"
#include "worker/meter/calibration.h"
#include "worker/runner/evaluate.h"
#include "worker/runner/judge_and_measure.h"

namespace fsr {
namespace {

constexpr int kChannel = Subprocess::kChannelFd;

int ExitCode(std::string_view who, const absl::Status& status) {
  if (status.ok() || absl::IsUnavailable(status)) return 0;  // the parent has gone
  std::fputs(fmt::format("{}: {}\n", who, MessageOf(status)).c_str(), stderr);
  return 1;
}

v1::RunReply Serve(Device& device, const v1::RunRequest& request) {
  auto tell_phase = [](std::string_view phase) {
    v1::RunReply progress;
    progress.set_phase(std::string(phase));
    // Who cannot be told of progress cannot be told the result either; that write then ends the loop.
    WriteFramed(kChannel, progress).IgnoreError();
  };
  absl::StatusOr<v1::Evaluation> evaluation = JudgeAndMeasure(device, request, tell_phase);
  v1::RunReply reply;
  if (evaluation.ok()) {
    *reply.mutable_evaluation() = *std::move(evaluation);
  } else {
    reply.set_infrastructure_error(MessageOf(evaluation.status()));
    reply.set_task_fault(absl::IsInternal(evaluation.status()));
  }
  reply.set_device_broken(device.broken());
  return reply;
}

absl::Status ServeRuns(Device& device) {
  for (;;) {
    v1::RunRequest request;
    absl::Status status = ReadFramed(kChannel, absl::InfiniteDuration(), &request);
    if (!status.ok()) return status;
    const v1::RunReply reply = Serve(device, request);
    status = WriteFramed(kChannel, reply);
    if (!status.ok() || reply.device_broken()) return status;
  }
}

}  // namespace

int RunnerMain(std::string_view device_name) {
  absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice(device_name);
  if (device.ok()) {
    if (auto* gpu = dynamic_cast<cuda::CudaDevice*>(device->get())) {
      if (absl::Status calibrated = Calibrate(*gpu, CalibrationFolder()); !calibrated.ok()) device = calibrated;
    }
  }
  v1::RunReply first;
  if (device.ok()) {
    *first.mutable_ready() = (*device)->facts();
  } else {
    first.set_infrastructure_error(MessageOf(device.status()));
  }
  if (absl::Status told = WriteFramed(kChannel, first); !told.ok() || !device.ok()) return ExitCode("run", told);
  return ExitCode("run", ServeRuns(**device));
}

int CompileChildMain() { return ExitCode("compile", ServeCompileJobs(kChannel)); }

}  // namespace fsr
