// Is the kernel right? Every case of the task: fresh inputs, poisoned outputs, guard bands, unchanged inputs, and the
// whole output against the oracle's, which exists only after the candidate has run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/launch_plan.h"
#include "fsr/v1/evaluation.pb.h"
#include "worker/device/device.h"

namespace fsr {

// A kernel file with its plan, compiled and loadable.
struct LoadableKernel {
  LaunchPlan plan;
  CompiledKernel compiled;
};

struct JudgeOptions {
  uint64_t seed = 0;
  absl::Duration run_limit = absl::Seconds(10);
  bool stop_at_first_failure = true;  // on a GPU, a fault ends the judging in any case
  bool judge_measured_case = true;    // false: Measure follows, which judges its own runs of that case
  Clock* clock = SystemClock();       // for CaseResult.seconds only
};

// The results of the cases in order (those after the first failure are missing if stop_at_first_failure). The last
// case judged is the measured one, if it is judged.
//
// A case whose outputs have no element at all (a size of 0) is right without a launch. Where an output has elements, a
// plan that Resolve refuses, such as a grid of 0 blocks, is a LAUNCH_ERROR.
struct Judgement {
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;  // MEASURED: right on every case
  std::vector<v1::CaseResult> cases;
  std::map<std::string, uint64_t> executed_instructions;  // summed over cases
};

// INTERNAL if the oracle itself fails: that is the task's fault, and the message names task and case.
absl::StatusOr<Judgement> Judge(Device& device, const v1::Task& task, const LoadableKernel& candidate,
                                const LoadableKernel& oracle, const JudgeOptions& options);

}  // namespace fsr
