// Stands in for `fsr-worker --role=run`: no device, and it does what a `// behave:` line of the candidate says. With
// --device=broken it has no device.
#include <unistd.h>

#include <csignal>
#include <string>
#include <string_view>

#include "common/framed_channel.h"
#include "common/subprocess.h"
#include "fsr/v1/runner.pb.h"

namespace {

constexpr int kChannel = fsr::Subprocess::kChannelFd;

void Write(const fsr::v1::RunReply& reply) {
  if (!fsr::WriteFramed(kChannel, reply).ok()) _exit(1);
}

void Serve(const fsr::v1::RunRequest& request) {
  const std::string& source = request.candidate().source();
  auto behaves = [&](std::string_view how) {
    return source.find("// behave: " + std::string(how)) != std::string::npos;
  };
  if (behaves("die at once")) raise(SIGSEGV);
  fsr::v1::RunReply reply;
  reply.set_phase("judge");
  Write(reply);
  if (behaves("die")) raise(SIGSEGV);
  if (behaves("hang")) pause();
  if (behaves("fail")) {
    reply.set_infrastructure_error("the device has no memory");
  } else if (behaves("blame the task")) {
    reply.set_infrastructure_error("the oracle traps");
    reply.set_task_fault(true);
  } else {
    reply.mutable_evaluation()->set_outcome(fsr::v1::MEASURED);
    // For the tests: which process it was, and what it was told.
    reply.mutable_evaluation()->set_diagnosis("process " + std::to_string(getpid()));
    reply.mutable_evaluation()->mutable_measurement()->set_latency_us(request.run_seconds());
  }
  reply.set_device_broken(behaves("break"));
  Write(reply);
  if (reply.device_broken()) _exit(0);
}

}  // namespace

int main(int, char** argv) {
  fsr::v1::RunReply first;
  if (argv[2] == std::string_view("--device=broken")) {
    first.set_infrastructure_error("there is no driver");
    Write(first);
    return 1;
  }
  first.mutable_ready()->set_kind("fake");
  first.mutable_ready()->set_architecture("sm_90a");
  Write(first);
  fsr::v1::RunRequest request;
  while (fsr::ReadFramed(kChannel, absl::InfiniteDuration(), &request).ok()) Serve(request);
}
