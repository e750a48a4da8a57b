// Stores the answers and calls of one job's generator as they come.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "server/generators/generator.h"
#include "server/store/store.h"

namespace fsr {

// For one call of Generator::Answer, on its thread.
class StoringSink : public AnswerSink {
 public:
  // `on_stored` is called after answers were stored. REQUIRES: all outlive it.
  StoringSink(JobId job, v1::JobOptions options, Store* store, const std::atomic<bool>* stopping,
              std::function<absl::Status()> on_stored)
      : job_(job),
        options_(std::move(options)),
        store_(*store),
        stopping_(*stopping),
        on_stored_(std::move(on_stored)) {}

  absl::Status Deliver(std::vector<Completion> completions) override;
  absl::StatusOr<uint32_t> Begin(v1::ModelCall call) override;
  absl::Status End(const v1::ModelCall& call, std::vector<Completion> completions) override;
  bool Cancelled() const override;

  // The first trouble of the store; OK: whatever Answer said was the generator's.
  const absl::Status& trouble() const { return trouble_; }

 private:
  absl::Status Keep(absl::Status status);

  const JobId job_;
  const v1::JobOptions options_;
  Store& store_;
  const std::atomic<bool>& stopping_;
  const std::function<absl::Status()> on_stored_;
  absl::Status trouble_;
};

}  // namespace fsr
