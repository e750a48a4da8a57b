// What every bundled task computes, in plain C++ on the host: written from the descriptions of the tasks, not from
// their kernels, and with a precision that float has not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fsr {

using Numbers = std::vector<double>;

struct CaseNumbers {
  std::map<std::string, Numbers> inputs;  // by parameter
  std::map<std::string, int64_t> sizes;
  std::map<std::string, double> scalars;
};

// The outputs by parameter.
using CpuOracle = std::function<std::map<std::string, Numbers>(const CaseNumbers&)>;

// By the name of the task. A new task folder needs an entry here.
const std::map<std::string, CpuOracle>& CpuOracles();

}  // namespace fsr
