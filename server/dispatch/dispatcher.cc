#include "server/dispatch/dispatcher.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/random.h"
#include "common/status_macros.h"

namespace fsr {
namespace {

absl::Status CheckRequest(const v1::SynchronizeRequest& request) {
  if (request.worker_id().empty() || request.worker_id().size() > kWorkerIdLengthMax) {
    return absl::InvalidArgumentError(fmt::format("worker_id has {} characters: it must have 1 to {}",
                                                  request.worker_id().size(), kWorkerIdLengthMax));
  }
  if (request.boot_id().empty() || request.boot_id().size() > kWorkerIdLengthMax) {
    return absl::InvalidArgumentError(
        fmt::format("boot_id has {} characters: it must have 1 to {}", request.boot_id().size(), kWorkerIdLengthMax));
  }
  if (request.device().kind().empty()) {
    return absl::InvalidArgumentError(
        fmt::format("worker {} names no device: device.kind must say what it offers", request.worker_id()));
  }
  if (request.leases_size() > kReportsMax) {
    return absl::InvalidArgumentError(
        fmt::format("{} leases are reported at once, and {} is the most", request.leases_size(), kReportsMax));
  }
  return absl::OkStatus();
}

bool TakesWork(const v1::SynchronizeRequest& request) { return !request.draining() && request.unhealthy().empty(); }

}  // namespace

struct Dispatcher::Visit {
  const v1::SynchronizeRequest& request;
  const std::function<bool()>& client_gone;
  WorkerRegistry::Call call;
  std::set<std::string> open;  // the caller's leases
  bool gave_back = false;
  v1::SynchronizeResponse response;
};

Dispatcher::Dispatcher(Store* store, Clock* clock, Options options)
    : store_(store),
      clock_(clock),
      options_(std::move(options)),
      registry_(options_.workers_max, options_.lease_lifetime) {}

absl::StatusOr<std::unique_ptr<Dispatcher>> Dispatcher::Create(Store* store, Clock* clock, Options options) {
  if (!options.new_lease_id) options.new_lease_id = [] { return RandomHex(16); };
  std::unique_ptr<Dispatcher> dispatcher(new Dispatcher(store, clock, std::move(options)));
  ASSIGN_OR_RETURN(const std::vector<Store::OpenAttempt> attempts, store->OpenAttempts());
  const absl::Time now = clock->Now();
  for (const auto& attempt : attempts) dispatcher->registry_.Restore(attempt.worker_id, attempt.boot_id, now);
  return dispatcher;
}

void Dispatcher::Stop() {
  stopped_ = true;
  store_->changes().Notify();
}

absl::Status Dispatcher::CheckRunning() const {
  return stopped_ ? absl::UnavailableError("the server is stopping: call again later") : absl::OkStatus();
}

absl::Status Dispatcher::ReleaseLost(absl::Time now) {
  for (const WorkerRegistry::Silent& worker : registry_.FindSilent(now)) {
    ASSIGN_OR_RETURN(const std::vector<Store::OpenAttempt> attempts, store_->OpenAttemptsOf(worker.worker_id));
    const std::string reason =
        fmt::format("the worker was not heard of for {}",
                    absl::FormatDuration(absl::Trunc(now - worker.last_contact, absl::Milliseconds(1))));
    for (const auto& attempt : attempts) {
      spdlog::warn("evaluation {}, attempt {} on worker {}: {}", attempt.evaluation, attempt.attempt, worker.worker_id,
                   reason);
      RETURN_IF_ERROR(store_->Release(attempt.lease_id, AttemptEnd::kLost, reason, options_.attempts_max).status());
    }
    registry_.MarkLost(worker);  // last: what fails before is tried again by the next call
  }
  return absl::OkStatus();
}

absl::Status Dispatcher::TakeReports(Visit& visit) {
  ASSIGN_OR_RETURN(const std::vector<Store::OpenAttempt> attempts, store_->OpenAttemptsOf(visit.request.worker_id()));
  for (const auto& attempt : attempts) {
    if (attempt.boot_id == visit.request.boot_id()) {
      visit.open.insert(attempt.lease_id);
    } else if (!visit.call.replaced) {
      spdlog::warn("evaluation {}, attempt {}: worker {} was restarted", attempt.evaluation, attempt.attempt,
                   attempt.worker_id);
      RETURN_IF_ERROR(store_
                          ->Release(attempt.lease_id, AttemptEnd::kLost,
                                    "the worker's process ended and was started anew", options_.attempts_max)
                          .status());
    }
  }
  for (const v1::LeaseReport& report : visit.request.leases()) RETURN_IF_ERROR(TakeReport(report, visit));
  return absl::OkStatus();
}

absl::Status Dispatcher::TakeReport(const v1::LeaseReport& report, Visit& visit) {
  const std::string& lease = report.lease_id();
  bool taken = visit.open.contains(lease);
  const bool ends = report.has_finished() || report.has_returned();
  if (taken && ends) {
    const bool no_outcome = report.has_finished() && (report.finished().outcome() == v1::OUTCOME_UNSPECIFIED ||
                                                      !v1::Outcome_IsValid(report.finished().outcome()));
    if (report.has_finished() && !no_outcome) {
      ASSIGN_OR_RETURN(taken, store_->Finish(lease, report.finished()));
    } else {
      const std::string reason = no_outcome ? "it reported a result without an outcome" : report.returned();
      spdlog::warn("worker {} gave a lease back: {}", visit.request.worker_id(), reason);
      ASSIGN_OR_RETURN(taken, store_->Release(lease, AttemptEnd::kReturned, reason, options_.returns_max));
      visit.gave_back = true;
    }
    visit.open.erase(lease);
  }
  if (!taken) {
    visit.response.add_abandon(lease);
  } else if (ends) {
    visit.response.add_recorded(lease);
  }
  return absl::OkStatus();
}

absl::Status Dispatcher::SendAgain(Visit& visit) {
  std::set<std::string> missing = visit.open;
  for (const v1::LeaseReport& report : visit.request.leases()) missing.erase(report.lease_id());
  for (const std::string& lease : missing) {
    if (!TakesWork(visit.request)) {
      RETURN_IF_ERROR(store_
                          ->Release(lease, AttemptEnd::kReturned,
                                    "it never reached the worker, which takes no work now", options_.returns_max)
                          .status());
      visit.open.erase(lease);
      continue;
    }
    if (visit.response.ByteSizeLong() > kAssignmentsBytesMax) return absl::OkStatus();  // with the next call
    ASSIGN_OR_RETURN(std::optional<v1::Assignment> assignment, store_->AssignmentOf(lease));
    if (assignment.has_value()) *visit.response.add_assignments() = *std::move(assignment);
  }
  return absl::OkStatus();
}

absl::Status Dispatcher::HandOut(Visit& visit) {
  // What was just given back is better tried by another worker first.
  if (!TakesWork(visit.request) || visit.gave_back) return absl::OkStatus();
  uint32_t wanted = visit.request.wanted_leases();
  while (wanted-- > 0 && visit.open.size() < kLeasesPerWorkerMax &&
         visit.response.ByteSizeLong() <= kAssignmentsBytesMax) {
    if (visit.client_gone && visit.client_gone()) return absl::OkStatus();
    const std::string lease = options_.new_lease_id();
    ASSIGN_OR_RETURN(std::optional<v1::Assignment> assignment,
                     store_->Lease(visit.request.device(), visit.request.worker_id(), visit.request.boot_id(), lease));
    if (!assignment.has_value()) return absl::OkStatus();
    visit.open.insert(lease);
    *visit.response.add_assignments() = *std::move(assignment);
  }
  return absl::OkStatus();
}

absl::Status Dispatcher::WaitForWork(Visit& visit, absl::Time now) {
  const absl::Time deadline = now + options_.long_poll_max;
  bool changed = true;
  while (true) {
    const uint64_t seen = store_->changes().Version();
    RETURN_IF_ERROR(CheckRunning());
    if (registry_.Superseded(visit.call)) return absl::OkStatus();
    RETURN_IF_ERROR(ReleaseLost(now));
    RETURN_IF_ERROR(HandOut(visit));
    if (!changed || !visit.response.assignments().empty() || now >= deadline) return absl::OkStatus();
    // A lease that runs out meanwhile is work, too.
    changed = store_->changes().AwaitChange(seen, std::min(deadline, registry_.NextExpiry()));
    now = clock_->Now();
  }
}

absl::StatusOr<v1::SynchronizeResponse> Dispatcher::Synchronize(const v1::SynchronizeRequest& request,
                                                                const std::function<bool()>& client_gone) {
  RETURN_IF_ERROR(CheckRequest(request));
  RETURN_IF_ERROR(CheckRunning());
  const absl::Time now = clock_->Now();
  // Before the caller counts as heard of: what it held for too long has run out, whoever calls first.
  RETURN_IF_ERROR(ReleaseLost(now));
  ASSIGN_OR_RETURN(WorkerRegistry::Call call, registry_.Begin(request, now));
  struct Ending {
    Dispatcher* dispatcher;
    const WorkerRegistry::Call& call;
    ~Ending() { dispatcher->registry_.End(call, dispatcher->clock_->Now()); }
  } ending{this, call};

  Visit visit{request, client_gone, call, {}, false, {}};
  RETURN_IF_ERROR(TakeReports(visit));
  absl::Duration next_contact = std::min(kBusyContactInterval, options_.lease_lifetime / 4);
  if (call.replaced) {
    spdlog::warn("worker id {} is used by two processes: the older one gets no work", request.worker_id());
  } else {
    RETURN_IF_ERROR(SendAgain(visit));
    const bool idle = request.leases().empty() && visit.response.assignments().empty();
    const bool may_wait = idle && TakesWork(request) && request.wanted_leases() > 0;
    if (may_wait && ++long_polls_ <= options_.long_polls_max) {
      const absl::Status waited = WaitForWork(visit, now);
      --long_polls_;
      RETURN_IF_ERROR(waited);
      if (visit.response.assignments().empty()) next_contact = absl::ZeroDuration();
    } else {
      if (may_wait) --long_polls_;
      RETURN_IF_ERROR(HandOut(visit));
    }
  }
  visit.response.set_next_contact_seconds(absl::ToDoubleSeconds(next_contact));
  return std::move(visit.response);
}

absl::StatusOr<v1::ListWorkersResponse> Dispatcher::ListWorkers() {
  RETURN_IF_ERROR(ReleaseLost(clock_->Now()));
  ASSIGN_OR_RETURN(const std::vector<Store::OpenAttempt> attempts, store_->OpenAttempts());
  std::map<std::string, uint32_t> lease_counts;
  for (const auto& attempt : attempts) ++lease_counts[attempt.worker_id];
  v1::ListWorkersResponse response;
  for (v1::Worker& worker : registry_.List()) {
    worker.set_lease_count(lease_counts[worker.id()]);
    *response.add_workers() = std::move(worker);
  }
  return response;
}

}  // namespace fsr
