#include "server/api/worker_service.h"

#include "server/api/grpc_status.h"

namespace fsr {

grpc::Status WorkerServiceImpl::Synchronize(grpc::ServerContext* context, const v1::SynchronizeRequest* request,
                                            v1::SynchronizeResponse* response) {
  return Answer(dispatcher_.Synchronize(*request, [context] { return context->IsCancelled(); }), response);
}

}  // namespace fsr
