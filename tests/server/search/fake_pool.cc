#include "tests/server/search/fake_pool.h"

#include <regex>

#include "common/random.h"
#include "tests/server/made_task.h"

namespace fsr::testing {
namespace {

v1::Evaluation Judge(const std::string& source) {
  v1::Evaluation result;
  std::smatch match;
  if (std::regex_search(source, match, std::regex("outcome ([A-Z_]+)"))) {
    v1::Outcome outcome = v1::REJECTED;
    v1::Outcome_Parse(match[1].str(), &outcome);
    result.set_outcome(outcome);
    result.set_diagnosis("So it is written.");
    return result;
  }
  result.set_outcome(v1::MEASURED);
  double latency_us = 100;
  if (std::regex_search(source, match, std::regex("latency ([0-9.]+)"))) latency_us = std::stod(match[1].str());
  result.mutable_measurement()->set_latency_us(latency_us);
  result.mutable_measurement()->set_estimated(true);
  *result.mutable_measurement()->mutable_device() = SimulatedH200();
  return result;
}

}  // namespace

void FakePool::Run() {
  while (true) {
    const uint64_t seen = store_->changes().Version();
    if (stopping_) return;
    const std::string lease_id = RandomHex(16);
    if (!paused_) {
      const auto assignment = store_->Lease(SimulatedH200(), "worker", "boot", lease_id);
      if (assignment.ok() && *assignment) {
        const v1::EvaluationSpec& spec = (*assignment)->spec();
        {
          absl::MutexLock lock(&mutex_);
          ++counts_[spec.source()];
          specs_.push_back(spec);
        }
        v1::Evaluation result = Judge(spec.source());
        if (measuring_ && result.has_measurement()) result.mutable_measurement()->set_estimated(false);
        (void)store_->Finish(lease_id, result);
        continue;
      }
    }
    store_->changes().AwaitChange(seen, absl::InfiniteFuture());
  }
}

}  // namespace fsr::testing
