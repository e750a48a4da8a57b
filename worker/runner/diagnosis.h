// An evaluation's diagnosis (for people and prompts) and signature (for de-duplication), from what was found. Pure.
#pragma once

#include <string>
#include <string_view>

#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/task.pb.h"

namespace fsr {

// Sets outcome, diagnosis and signature of a candidate that was refused before it ran, or that was stopped: `sentence`
// says why. `kind` is stable and tells refusals of one outcome apart.
void DescribeRefusal(v1::Outcome outcome, std::string_view kind, std::string_view sentence, v1::Evaluation* evaluation);

// The same for a file that does not compile: the first errors of `log`, which becomes compile_log.
void DescribeCompileError(std::string_view log, bool limit_exceeded, v1::Evaluation* evaluation);

// Sets diagnosis and signature of an evaluation whose outcome, cases and measurement are filled in. A held-out case is
// called that; its sizes, indices and values are not told.
void Describe(const v1::Task& task, v1::Evaluation* evaluation);

// A part of a signature: lower case, addresses and numbers as '#', white space and length bounded.
std::string Normalized(std::string_view text);

}  // namespace fsr
