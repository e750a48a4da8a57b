// WorkerService over gRPC: only translates.
#pragma once

#include "fsr/v1/worker.grpc.pb.h"
#include "server/dispatch/dispatcher.h"

namespace fsr {

// Safe for concurrent use.
class WorkerServiceImpl final : public v1::WorkerService::Service {
 public:
  explicit WorkerServiceImpl(Dispatcher* dispatcher) : dispatcher_(*dispatcher) {}  // REQUIRES: it outlives this

  grpc::Status Synchronize(grpc::ServerContext*, const v1::SynchronizeRequest*, v1::SynchronizeResponse*) override;

 private:
  Dispatcher& dispatcher_;
};

}  // namespace fsr
