// CUDA C++ to PTX in this process, for tests: NVRTC without the limits and processes of worker/compile.
#pragma once

#include <string>
#include <vector>

namespace fsr::sim {

struct NvrtcResult {
  bool ok = false;
  std::string ptx;
  std::string log;
};

NvrtcResult CompileWithNvrtc(const std::string& source, const std::string& architecture,
                             const std::vector<std::string>& options = {});

}  // namespace fsr::sim
