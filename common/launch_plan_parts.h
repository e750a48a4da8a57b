// The steps of ParseLaunchPlan: read each line, take over a fixed launch, check the names.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/complaints.h"
#include "common/directive_cursor.h"
#include "common/launch_plan.h"
#include "common/source_scan.h"

namespace fsr {

// Each reads the rest of a line whose directive is already consumed.
absl::StatusOr<Tunable> ParseTune(DirectiveCursor& cursor);
absl::StatusOr<ScratchBuffer> ParseScratch(DirectiveCursor& cursor);
absl::StatusOr<Fill> ParseFill(DirectiveCursor& cursor);
absl::StatusOr<Launch> ParseLaunch(DirectiveCursor& cursor);
absl::StatusOr<TensorMap> ParseTensorMap(DirectiveCursor& cursor);
absl::StatusOr<std::string> ParseOption(DirectiveCursor& cursor);

// Replaces launches, scratch buffers and tensor maps by those of `fixed`, and pins its tunables. Complains of lines of
// the plan's own that say anything else.
void ApplyFixedLaunch(const LaunchPlan& fixed, LaunchPlan* plan, Complaints* complaints);

// Every name is defined once, and everything that is used is defined and of a fitting kind.
void CheckPlanNames(const LaunchPlan& plan, const v1::Task& task, Complaints* complaints);

// "line 3", or what the task says for parts of a fixed launch, which stand in no line of the candidate.
std::string LineName(int line);

}  // namespace fsr
