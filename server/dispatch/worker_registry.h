// Which workers there are and when each was last heard of. In memory only: after a restart the workers say again what
// they are, and only their open leases come from the store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "fsr/v1/search.pb.h"
#include "fsr/v1/worker.pb.h"

namespace fsr {

// Safe for concurrent use. Never reads a clock: `now` is the caller's.
class WorkerRegistry {
 public:
  WorkerRegistry(int workers_max, absl::Duration lifetime) : workers_max_(workers_max), lifetime_(lifetime) {}

  // A worker that held leases when the server ended. It has a whole lifetime from `now` to call.
  void Restore(const std::string& worker_id, const std::string& boot_id, absl::Time now);

  // How the registry takes a call.
  struct Call {
    std::string worker_id;
    uint64_t number = 0;
    // The process that calls was replaced by a later one under the same worker id: it gets nothing any more.
    bool replaced = false;
  };
  // A call begins: the worker is alive, and is not lost until the call has ended. RESOURCE_EXHAUSTED if there are too
  // many workers already; the longest lost one makes room.
  absl::StatusOr<Call> Begin(const v1::SynchronizeRequest& request, absl::Time now);
  void End(const Call& call, absl::Time now);
  // The worker has called again since: this call's answer would reach nobody.
  bool Superseded(const Call& call);

  // Workers that have not called for a lifetime and are not marked as lost yet.
  struct Silent {
    std::string worker_id;
    absl::Time last_contact;
  };
  std::vector<Silent> FindSilent(absl::Time now);
  void MarkLost(const Silent& worker);  // no-op if it has called since
  // When the next worker will be silent for too long; InfiniteFuture if none can be.
  absl::Time NextExpiry();

  std::vector<v1::Worker> List();

 private:
  struct State {
    std::string boot_id;
    std::vector<std::string> replaced_boot_ids;  // at most kReplacedBootIdsMax, oldest first
    v1::Worker worker;                           // without lease_count, last_contact_us
    absl::Time last_contact;
    uint64_t call_number = 0;
    int calls_open = 0;
  };
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int workers_max_;
  const absl::Duration lifetime_;
  absl::Mutex mutex_;
  std::map<std::string, State> workers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fsr
