// The parts of CheckTask.
#pragma once

#include <functional>
#include <string>

#include "common/complaints.h"
#include "fsr/v1/task.pb.h"

namespace fsr {

// Calls `visit` with every case and what messages call it: "cases[2] (n=5)", "measure", "measure_simulated".
void ForEachCase(const v1::Task& task, const std::function<void(const v1::Case&, const std::string&)>& visit);

// An expression over the task's sizes.
void CheckTaskExpression(const v1::Task& task, const std::string& text, const std::string& where,
                         Complaints* complaints);

// Name, description, tags, tolerance, work, instruction prefixes.
void CheckTaskFields(const v1::Task& task, Complaints* complaints);

void CheckParameters(const v1::Task& task, Complaints* complaints);

// How a buffer is filled, as far as it does not depend on a case.
void CheckData(const v1::Task& task, const v1::Data& data, const std::string& where, Complaints* complaints);

// Every case has each size and scalar, fitting its type, and nothing else.
void CheckCases(const v1::Task& task, Complaints* complaints);

// The rest REQUIRES parameters and cases without a complaint.

// What shapes, data bounds and work come to in every case.
void CheckCaseBuffers(const v1::Task& task, Complaints* complaints);

// The sources' launch plans, resolved for every case.
void CheckSources(const v1::Task& task, Complaints* complaints);

}  // namespace fsr
