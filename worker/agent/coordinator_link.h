// How an agent reaches its coordinator: the one call there is.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "fsr/v1/worker.pb.h"

namespace fsr {

// Safe for concurrent use.
class CoordinatorLink {
 public:
  virtual ~CoordinatorLink() = default;
  // May block as long as the coordinator's long poll. UNAVAILABLE, DEADLINE_EXCEEDED: call again later.
  virtual absl::StatusOr<v1::SynchronizeResponse> Synchronize(const v1::SynchronizeRequest& request) = 0;
  // Ends a call that is waiting now, with CANCELLED; does nothing if none is.
  virtual void Interrupt() = 0;
};

// Longer than the coordinator's long poll (30 s); a connection that says nothing for so long is dead.
inline constexpr absl::Duration kSynchronizeTimeout = absl::Seconds(60);
// A task with its sources is what is largest in an answer.
inline constexpr int kSynchronizeBytesMax = 64 << 20;

// Over gRPC to "HOST:PORT". Connects when first called, and again whenever the connection is lost.
std::unique_ptr<CoordinatorLink> NewGrpcLink(const std::string& address);

}  // namespace fsr
