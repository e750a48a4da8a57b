#include "server/api/grpc_status.h"

#include "common/status.h"

namespace fsr {

grpc::Status ToGrpc(const absl::Status& status) {
  // The numbers of both enumerations are those of google.rpc.Code.
  return status.ok() ? grpc::Status::OK
                     : grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()), MessageOf(status));
}

}  // namespace fsr
