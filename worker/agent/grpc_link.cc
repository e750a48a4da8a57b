#include <grpcpp/grpcpp.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "fsr/v1/worker.grpc.pb.h"
#include "worker/agent/coordinator_link.h"

namespace fsr {
namespace {

// A coordinator that comes back is found within this time.
constexpr int kReconnectMsMax = 5'000;
// Notices a coordinator's machine that vanished during a long poll.
constexpr int kKeepaliveMs = 20'000;

class GrpcLink : public CoordinatorLink {
 public:
  explicit GrpcLink(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kSynchronizeBytesMax);
    arguments.SetMaxSendMessageSize(kSynchronizeBytesMax);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMsMax);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    stub_ =
        v1::WorkerService::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }

  absl::StatusOr<v1::SynchronizeResponse> Synchronize(const v1::SynchronizeRequest& request) override {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kSynchronizeTimeout));
    {
      absl::MutexLock lock(&mutex_);
      current_ = &context;
    }
    v1::SynchronizeResponse response;
    const grpc::Status status = stub_->Synchronize(&context, request, &response);
    {
      absl::MutexLock lock(&mutex_);
      current_ = nullptr;
    }
    if (status.ok()) return response;
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

  void Interrupt() override {
    absl::MutexLock lock(&mutex_);
    if (current_ != nullptr) current_->TryCancel();
  }

 private:
  std::unique_ptr<v1::WorkerService::Stub> stub_;
  absl::Mutex mutex_;
  grpc::ClientContext* current_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace

std::unique_ptr<CoordinatorLink> NewGrpcLink(const std::string& address) { return std::make_unique<GrpcLink>(address); }

}  // namespace fsr
