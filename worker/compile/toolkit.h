// Where the CUDA Toolkit's compiler library and headers lie on this machine.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fsr {

struct Toolkit {
  std::string nvrtc_path;                    // libnvrtc.so.13 or .12
  std::vector<std::string> include_folders;  // include and include/cccl; empty where there are no headers
  // Changes when another compiler is installed: path, size and time of the library.
  std::string fingerprint;
};

// Where the toolkit's libraries may lie, the most likely first: below $CUDA_HOME, $CUDA_PATH, the program's own folder
// and /usr/local/cuda, in $LD_LIBRARY_PATH, in the system's folders.
std::vector<std::string> ToolkitLibraryFolders();

// Looks in $CUDA_HOME, $CUDA_PATH, beside the program (a bundle's lib folder), /usr/local/cuda, $LD_LIBRARY_PATH and
// the system's library folders. UNAVAILABLE if there is no NVRTC: the message says what to install.
absl::StatusOr<Toolkit> FindToolkit();

}  // namespace fsr
