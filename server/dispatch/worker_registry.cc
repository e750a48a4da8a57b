#include "server/dispatch/worker_registry.h"

#include <fmt/format.h>

#include <algorithm>

namespace fsr {
namespace {

constexpr size_t kReplacedBootIdsMax = 16;

}  // namespace

void WorkerRegistry::Restore(const std::string& worker_id, const std::string& boot_id, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  State& state = workers_[worker_id];
  state.boot_id = boot_id;
  state.worker.set_id(worker_id);
  state.last_contact = now;
}

void WorkerRegistry::MakeRoom() {
  auto oldest = workers_.end();
  for (auto it = workers_.begin(); it != workers_.end(); ++it) {
    if (!it->second.worker.lost()) continue;
    if (oldest == workers_.end() || it->second.last_contact < oldest->second.last_contact) oldest = it;
  }
  if (oldest != workers_.end()) workers_.erase(oldest);
}

absl::StatusOr<WorkerRegistry::Call> WorkerRegistry::Begin(const v1::SynchronizeRequest& request, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (!workers_.contains(request.worker_id()) && workers_.size() >= static_cast<size_t>(workers_max_)) {
    MakeRoom();
    if (workers_.size() >= static_cast<size_t>(workers_max_)) {
      return absl::ResourceExhaustedError(
          fmt::format("{} workers are connected, which is the most this server takes: use another server for more",
                      workers_.size()));
    }
  }
  State& state = workers_[request.worker_id()];
  const auto& replaced = state.replaced_boot_ids;
  if (std::find(replaced.begin(), replaced.end(), request.boot_id()) != replaced.end()) {
    return Call{request.worker_id(), 0, true};
  }
  if (!state.boot_id.empty() && state.boot_id != request.boot_id()) {
    state.replaced_boot_ids.push_back(state.boot_id);
    if (replaced.size() > kReplacedBootIdsMax) state.replaced_boot_ids.erase(state.replaced_boot_ids.begin());
  }
  state.boot_id = request.boot_id();
  state.last_contact = now;
  state.worker.set_id(request.worker_id());
  *state.worker.mutable_device() = request.device();
  state.worker.set_unhealthy(request.unhealthy());
  state.worker.set_draining(request.draining());
  state.worker.set_lost(false);
  *state.worker.mutable_statistics() = request.statistics();
  ++state.calls_open;
  return Call{request.worker_id(), ++state.call_number, false};
}

void WorkerRegistry::End(const Call& call, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto it = workers_.find(call.worker_id);
  if (call.replaced || it == workers_.end()) return;
  --it->second.calls_open;
  it->second.last_contact = std::max(it->second.last_contact, now);
}

bool WorkerRegistry::Superseded(const Call& call) {
  absl::MutexLock lock(&mutex_);
  const auto it = workers_.find(call.worker_id);
  return it == workers_.end() || it->second.call_number != call.number;
}

std::vector<WorkerRegistry::Silent> WorkerRegistry::FindSilent(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  std::vector<Silent> silent;
  for (const auto& [id, state] : workers_) {
    if (state.worker.lost() || state.calls_open > 0 || now - state.last_contact < lifetime_) continue;
    silent.push_back({id, state.last_contact});
  }
  return silent;
}

void WorkerRegistry::MarkLost(const Silent& worker) {
  absl::MutexLock lock(&mutex_);
  const auto it = workers_.find(worker.worker_id);
  if (it == workers_.end() || it->second.last_contact != worker.last_contact || it->second.calls_open > 0) return;
  it->second.worker.set_lost(true);
}

absl::Time WorkerRegistry::NextExpiry() {
  absl::MutexLock lock(&mutex_);
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [id, state] : workers_) {
    if (!state.worker.lost() && state.calls_open == 0) next = std::min(next, state.last_contact + lifetime_);
  }
  return next;
}

std::vector<v1::Worker> WorkerRegistry::List() {
  absl::MutexLock lock(&mutex_);
  std::vector<v1::Worker> workers;
  for (const auto& [id, state] : workers_) {
    workers.push_back(state.worker);
    workers.back().set_last_contact_us(absl::ToUnixMicros(state.last_contact));
  }
  return workers;
}

}  // namespace fsr
