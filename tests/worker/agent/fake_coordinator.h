// A coordinator and an evaluator for tests of the agent, both scripted by the test.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "worker/agent/coordinator_link.h"
#include "worker/runner/evaluate.h"

namespace fsr {

// Hands out the evaluations it is given, at most wanted_leases at a time, and records what comes back. Safe for
// concurrent use.
class FakeCoordinator : public CoordinatorLink {
 public:
  absl::StatusOr<v1::SynchronizeResponse> Synchronize(const v1::SynchronizeRequest& request) override {
    absl::MutexLock lock(&mutex_);
    requests_.push_back(request);
    last_ = request;
    if (!failures_.empty()) {
      absl::Status failure = failures_.front();
      failures_.pop_front();
      return failure;
    }
    v1::SynchronizeResponse response;
    for (const v1::LeaseReport& report : request.leases()) TakeReport(report, &response);
    if (request.leases().empty() && request.wanted_leases() > 0 && waiting_.empty()) LongPoll();
    if (interrupted_) {
      interrupted_ = false;
      return absl::CancelledError("interrupted");
    }
    for (uint32_t i = 0; i < request.wanted_leases() && !waiting_.empty(); ++i) {
      *response.add_assignments() = waiting_.front();
      open_.insert(waiting_.front().lease_id());
      waiting_.pop_front();
    }
    response.set_next_contact_seconds(0.02);
    if (lose_next_answer_) {
      lose_next_answer_ = false;
      return absl::UnavailableError("the answer was lost");
    }
    return response;
  }
  void Interrupt() override {
    absl::MutexLock lock(&mutex_);
    interrupted_ = polling_;
  }

  // ---- The script ----
  void Assign(const std::string& lease, const std::string& source) {
    absl::MutexLock lock(&mutex_);
    v1::Assignment& assignment = waiting_.emplace_back();
    assignment.set_lease_id(lease);
    assignment.set_evaluation_id("evaluation of " + lease);
    assignment.set_attempt(2);
    assignment.mutable_spec()->set_source(source);
  }
  void FailNext(absl::Status failure) {
    absl::MutexLock lock(&mutex_);
    failures_.push_back(std::move(failure));
  }
  void LoseNextReportsAnswer() {
    absl::MutexLock lock(&mutex_);
    lose_after_report_ = true;
  }
  void Abandon(const std::string& lease) {
    absl::MutexLock lock(&mutex_);
    open_.erase(lease);
  }
  // Whether `condition`, which may look at the members below, holds within ten seconds.
  bool Await(const std::function<bool()>& condition) {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&condition, &std::function<bool()>::operator()), absl::Seconds(10));
  }
  absl::Mutex& mutex() { return mutex_; }
  std::vector<v1::SynchronizeRequest> requests_;
  v1::SynchronizeRequest last_;
  std::map<std::string, std::vector<v1::Evaluation>> finished_;
  std::map<std::string, std::string> returned_;

 private:
  void TakeReport(const v1::LeaseReport& report, v1::SynchronizeResponse* response) {
    const std::string& lease = report.lease_id();
    if (report.has_finished()) {
      finished_[lease].push_back(report.finished());
      lose_next_answer_ |= std::exchange(lose_after_report_, false);
    }
    if (report.state_case() == v1::LeaseReport::kReturned) returned_[lease] = report.returned();
    if (report.has_evaluating() && open_.count(lease) == 0) response->add_abandon(lease);
    if (!report.has_evaluating()) response->add_recorded(lease);
  }
  void LongPoll() {
    polling_ = true;
    const auto wake = [this] { return !waiting_.empty() || interrupted_; };
    mutex_.AwaitWithTimeout(absl::Condition(&wake), absl::Seconds(1));
    polling_ = false;
  }

  absl::Mutex mutex_;
  std::deque<v1::Assignment> waiting_;
  std::set<std::string> open_;
  std::deque<absl::Status> failures_;
  bool lose_after_report_ = false, lose_next_answer_ = false, polling_ = false, interrupted_ = false;
};

// Does what the source says: "right", "hold" (until released or cancelled), "task fault", "device gone".
class FakeEvaluator : public Evaluator {
 public:
  struct Work : Prepared {
    std::string source;
  };

  FakeEvaluator() { facts_.set_kind("fake"); }
  const v1::DeviceFacts& facts() const override { return facts_; }
  absl::StatusOr<std::shared_ptr<Prepared>> Prepare(const v1::EvaluationSpec& spec) override {
    absl::MutexLock lock(&mutex_);
    ++prepared_;
    if (spec.source() == "task fault") return absl::FailedPreconditionError("the oracle does not compile");
    auto work = std::make_shared<Work>();
    work->source = spec.source();
    return std::shared_ptr<Prepared>(work);
  }
  absl::StatusOr<v1::Evaluation> Run(std::shared_ptr<Prepared> prepared,
                                     const std::function<void(std::string_view)>& on_phase) override {
    const auto& work = static_cast<const Work&>(*prepared);
    on_phase("measure");
    {
      absl::MutexLock lock(&mutex_);
      most_at_once_ = std::max(most_at_once_.load(), ++running_);
    }
    while (work.source == "hold" && !released_ && !work.cancelled()) absl::SleepFor(absl::Milliseconds(5));
    absl::MutexLock lock(&mutex_);
    --running_;
    if (work.cancelled()) return absl::CancelledError("cancelled");
    if (work.source == "device gone") return absl::UnavailableError("the device fell off the bus");
    v1::Evaluation evaluation;
    evaluation.set_outcome(v1::MEASURED);
    evaluation.set_diagnosis(work.source);
    return evaluation;
  }
  absl::Status CheckHealth() override { return absl::OkStatus(); }
  uint64_t child_restart_count() const override { return 7; }

  std::atomic<bool> released_ = false;
  absl::Mutex mutex_;
  std::atomic<int> prepared_ = 0, most_at_once_ = 0;

 private:
  v1::DeviceFacts facts_;
  int running_ = 0;
};

}  // namespace fsr
