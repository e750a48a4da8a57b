// Kernels that compute nothing and must fail: a task that one of them passes measures nothing.
#pragma once

#include <string>
#include <vector>

#include "fsr/v1/task.pb.h"

namespace fsr {

struct Canary {
  std::string name;    // "zero", "constant", "copy", "mean"
  std::string source;  // a candidate file
};

// Zero and one in every output; each input of an output's type copied to it; for a floating-point input its mean.
std::vector<Canary> CanariesOf(const v1::Task& task);

}  // namespace fsr
