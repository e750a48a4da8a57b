#include "worker/agent/lease_board.h"

#include <algorithm>
#include <utility>

namespace fsr {

using State = LeasedWork::State;

namespace {

bool HasEnded(const LeasedWork& work) { return work.state == State::kFinished || work.state == State::kReturned; }

constexpr char kStopping[] = "the worker is stopping";

}  // namespace

LeaseBoard::LeaseBoard(size_t lease_count_max, Clock* clock)
    : lease_count_max_(lease_count_max), clock_(clock), counted_until_(clock->Now()) {}

void LeaseBoard::Report(v1::SynchronizeRequest* request) {
  absl::MutexLock lock(&mutex_);
  CountTime();
  news_ = false;
  for (const std::shared_ptr<LeasedWork>& work : leases_) {
    v1::LeaseReport& report = *request->add_leases();
    report.set_lease_id(work->assignment.lease_id());
    if (work->state == State::kFinished) {
      *report.mutable_finished() = work->evaluation;
    } else if (work->state == State::kReturned) {
      report.set_returned(work->return_reason);
    } else {
      report.mutable_evaluating()->set_phase(work->phase);
    }
  }
  const auto working = static_cast<size_t>(std::count_if(
      leases_.begin(), leases_.end(), [](const std::shared_ptr<LeasedWork>& work) { return !HasEnded(*work); }));
  if (!draining_ && unhealthy_.empty()) request->set_wanted_leases(static_cast<uint32_t>(lease_count_max_ - working));
  request->set_draining(draining_);
  request->set_unhealthy(unhealthy_);
  request->mutable_statistics()->set_device_busy_seconds(absl::ToDoubleSeconds(busy_));
  request->mutable_statistics()->set_device_wait_seconds(absl::ToDoubleSeconds(waiting_));
}

void LeaseBoard::Apply(const v1::SynchronizeResponse& response) {
  absl::MutexLock lock(&mutex_);
  CountTime();
  for (const std::string& lease_id : response.recorded()) Remove(lease_id);
  for (const std::string& lease_id : response.abandon()) Remove(lease_id);
  for (const v1::Assignment& assignment : response.assignments()) {
    const bool known = std::any_of(leases_.begin(), leases_.end(), [&](const std::shared_ptr<LeasedWork>& work) {
      return work->assignment.lease_id() == assignment.lease_id();
    });
    if (known) continue;  // a repeated answer
    leases_.push_back(std::make_shared<LeasedWork>(assignment));
  }
  if (draining_) ReturnWaiting(kStopping, /*running_too=*/true);
}

void LeaseBoard::AwaitNews(absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  clock_->AwaitWithDeadline(mutex_, absl::Condition(this, &LeaseBoard::HasNews), clock_->Now() + patience);
}

void LeaseBoard::Pause(absl::Duration pause) {
  absl::MutexLock lock(&mutex_);
  const auto condition =
      draining_ ? absl::Condition(this, &LeaseBoard::IsStopped) : absl::Condition(this, &LeaseBoard::IsDraining);
  clock_->AwaitWithDeadline(mutex_, condition, clock_->Now() + pause);
}

bool LeaseBoard::empty() {
  absl::MutexLock lock(&mutex_);
  return leases_.empty();
}

void LeaseBoard::Drain() {
  absl::MutexLock lock(&mutex_);
  if (draining_) return;
  CountTime();
  draining_ = true;
  news_ = true;
  ReturnWaiting(kStopping, /*running_too=*/true);
}

bool LeaseBoard::Drained() {
  absl::MutexLock lock(&mutex_);
  return draining_ && leases_.empty();
}

std::shared_ptr<LeasedWork> LeaseBoard::FirstIn(State state) const {
  for (const std::shared_ptr<LeasedWork>& work : leases_) {
    if (work->state == state) return work;
  }
  return nullptr;
}

bool LeaseBoard::QueuedOrStopped() const { return stopped_ || FirstIn(State::kQueued) != nullptr; }
bool LeaseBoard::PreparedOrStopped() const { return stopped_ || FirstIn(State::kPrepared) != nullptr; }

std::shared_ptr<LeasedWork> LeaseBoard::TakeQueued() {
  absl::MutexLock lock(&mutex_, absl::Condition(this, &LeaseBoard::QueuedOrStopped));
  if (stopped_) return nullptr;
  std::shared_ptr<LeasedWork> work = FirstIn(State::kQueued);
  work->state = State::kPreparing;
  work->phase = "compile";
  return work;
}

std::shared_ptr<LeasedWork> LeaseBoard::TakePrepared(absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  clock_->AwaitWithDeadline(mutex_, absl::Condition(this, &LeaseBoard::PreparedOrStopped), clock_->Now() + patience);
  std::shared_ptr<LeasedWork> work = stopped_ ? nullptr : FirstIn(State::kPrepared);
  if (work == nullptr) return nullptr;
  CountTime();
  work->state = State::kRunning;
  return work;
}

void LeaseBoard::SetPhase(LeasedWork& work, std::string phase) {
  absl::MutexLock lock(&mutex_);
  work.phase = std::move(phase);
}

void LeaseBoard::SetPrepared(LeasedWork& work, std::shared_ptr<Evaluator::Prepared> prepared) {
  absl::MutexLock lock(&mutex_);
  if (work.state != State::kPreparing) return;  // returned meanwhile
  CountTime();
  work.prepared = std::move(prepared);
  work.state = State::kPrepared;
  work.phase = "queue";
}

void LeaseBoard::Finish(LeasedWork& work, v1::Evaluation evaluation) {
  absl::MutexLock lock(&mutex_);
  if (HasEnded(work)) return;
  work.evaluation = std::move(evaluation);
  End(work, State::kFinished);
}

void LeaseBoard::Return(LeasedWork& work, std::string reason) {
  absl::MutexLock lock(&mutex_);
  if (HasEnded(work)) return;
  work.return_reason = std::move(reason);
  End(work, State::kReturned);
}

void LeaseBoard::SetUnhealthy(std::string why) {
  absl::MutexLock lock(&mutex_);
  news_ |= unhealthy_ != why;
  unhealthy_ = std::move(why);
  if (!unhealthy_.empty()) ReturnWaiting(unhealthy_, /*running_too=*/false);
}

bool LeaseBoard::healthy() {
  absl::MutexLock lock(&mutex_);
  return unhealthy_.empty();
}

void LeaseBoard::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  news_ = true;
  for (const std::shared_ptr<LeasedWork>& work : leases_) {
    if (work->prepared != nullptr) work->prepared->Cancel();
  }
}

bool LeaseBoard::stopped() {
  absl::MutexLock lock(&mutex_);
  return stopped_;
}

void LeaseBoard::End(LeasedWork& work, State state) {
  CountTime();
  work.state = state;
  news_ = true;
}

void LeaseBoard::ReturnWaiting(const std::string& reason, bool running_too) {
  for (const std::shared_ptr<LeasedWork>& work : leases_) {
    if (HasEnded(*work) || (work->state == State::kRunning && !running_too)) continue;
    if (work->prepared != nullptr) work->prepared->Cancel();
    work->return_reason = reason;
    End(*work, State::kReturned);
  }
}

// The thread that works on it, if any, learns of it by the cancelled evaluation; what it reports then goes nowhere.
void LeaseBoard::Remove(const std::string& lease_id) {
  for (auto it = leases_.begin(); it != leases_.end(); ++it) {
    if ((*it)->assignment.lease_id() != lease_id) continue;
    if ((*it)->prepared != nullptr) (*it)->prepared->Cancel();
    leases_.erase(it);
    return;
  }
}

// Busy while something runs; waiting while there is work, but none of it is ready to run.
void LeaseBoard::CountTime() {
  const absl::Time now = clock_->Now();
  const absl::Duration passed = now - std::exchange(counted_until_, now);
  if (FirstIn(State::kRunning) != nullptr) {
    busy_ += passed;
  } else if (FirstIn(State::kPreparing) != nullptr || FirstIn(State::kQueued) != nullptr) {
    waiting_ += passed;
  }
}

}  // namespace fsr
