#include "worker/runner/device_child.h"

#include <utility>

#include "common/framed_channel.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"

namespace fsr {
namespace {

// A child whose channel has closed is about to end.
constexpr absl::Duration kEndWait = absl::Seconds(2);

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceChild>> DeviceChild::Start(const std::string& worker_program,
                                                                const std::string& device) {
  ASSIGN_OR_RETURN(std::unique_ptr<Subprocess> process,
                   Subprocess::Start({.argv = {worker_program, "--role=run", "--device=" + device},
                                      .connect_channel = true,
                                      .stdout_path = "/dev/null"}));
  return std::unique_ptr<DeviceChild>(new DeviceChild(std::move(process)));
}

absl::Status DeviceChild::AwaitReady() {
  if (ready_) return absl::OkStatus();
  v1::RunReply first;
  absl::Status status = ReadFramed(process_->channel_fd(), kDeviceReadyMax, &first);
  if (absl::IsDeadlineExceeded(status)) {
    End();
    return absl::UnavailableError(
        fmt::format("The device was not ready within {:g} s.", absl::ToDoubleSeconds(kDeviceReadyMax)));
  }
  if (!status.ok()) {
    return absl::UnavailableError(fmt::format("The process that opens the device {}.", End()));
  }
  if (!first.has_ready()) return absl::UnavailableError(first.infrastructure_error());
  facts_ = std::move(*first.mutable_ready());
  ready_ = true;
  return absl::OkStatus();
}

absl::Status DeviceChild::Send(const v1::RunRequest& request) { return WriteFramed(process_->channel_fd(), request); }

absl::StatusOr<std::optional<v1::RunReply>> DeviceChild::Receive(absl::Duration patience) {
  v1::RunReply reply;
  absl::Status status = ReadFramed(process_->channel_fd(), patience, &reply);
  if (absl::IsDeadlineExceeded(status)) return std::nullopt;
  RETURN_IF_ERROR(status);
  return reply;
}

std::string DeviceChild::End() {
  std::optional<ExitStatus> ended = process_->Wait(absl::ZeroDuration());
  if (!ended) ended = process_->Wait(kEndWait);
  if (ended) return ended->Describe();
  process_->Kill();
  return "closed its channel and did not end";
}

}  // namespace fsr
