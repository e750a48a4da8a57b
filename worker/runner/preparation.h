// The first half of an evaluation: plans and compiles. Needs no device.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "fsr/v1/runner.pb.h"
#include "worker/runner/evaluate.h"

namespace fsr {

struct PreparedEvaluation : Evaluator::Prepared {
  absl::Time start;        // the evaluation's; phases count from here
  absl::Time prepared_at;  // when the compiles were done
  // What is known of the candidate so far: hashes, compile log, phases. Its outcome is set if there is nothing to run.
  v1::Evaluation evaluation;
  v1::RunRequest request;  // filled in unless evaluation.outcome() is set
  absl::Duration total_limit;
};

// See Evaluator::Prepare. Safe for concurrent use.
absl::StatusOr<std::shared_ptr<PreparedEvaluation>> PrepareEvaluation(const v1::EvaluationSpec& spec,
                                                                      const std::string& architecture,
                                                                      Compiler& compiler);

// `phase` from `from` to `to`, on the clock of an evaluation that began at `start`.
v1::PhaseTime PhaseOf(std::string phase, absl::Time start, absl::Time from, absl::Time to);

}  // namespace fsr
