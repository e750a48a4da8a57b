// What a text is as a CUDA file: which kernels it has, how they are launched, whether it is more than device code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fsr {

struct CodeShape {
  bool has_kernel = false;           // the word __global__ stands in the code
  std::vector<std::string> defined;  // names of kernels with a body, in order, as often as they are defined
  // By the `// fsr: launch` lines, without template arguments and namespaces. A malformed `// fsr:` line counts as a
  // launch line without a name: whoever launches says what is wrong with it.
  bool has_launch_line = false;
  std::vector<std::string> launched;
  std::string host_code;     // the first thing found that only a host program has, such as "main()"; empty: none
  bool is_balanced = false;  // every bracket and comment is closed
};

// Linear in the size of `source`, which may be anything.
CodeShape ShapeOf(std::string_view source);

// The kernels that the `// fsr: launch` lines of `source` name.
std::vector<std::string> LaunchedKernels(std::string_view source);

}  // namespace fsr
