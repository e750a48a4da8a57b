// What can be told from CUDA source without compiling it: the files it includes, and the kernels it defines.
//
// Candidates are untrusted, and a compiler shows the lines of a file that does not compile: an include of a file that
// is none of the toolkit's would carry it into the log. The scan reads as the compiler does (line splices, comments,
// literals, digraphs); where compilers differ (trigraphs, blanks in a splice, raw strings in skipped groups) it reads
// both ways and believes the worse.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace fsr {

// OK if the source can only include files by a plain relative path, which the compiler looks up in the toolkit's
// folders alone. INVALID_ARGUMENT names the line and what is wrong: absolute paths, "..", names made by a macro.
absl::Status CheckIncludes(std::string_view source);

// The names of the `__global__` functions, in order; a template is given as "name<…>".
std::vector<std::string> KernelNames(std::string_view source);

}  // namespace fsr
