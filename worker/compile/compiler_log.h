// What the compiler says, made fit for people: the resource figures taken out as data, the rest kept as text.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fsr/v1/evaluation.pb.h"

namespace fsr {

struct CompilerLog {
  std::string text;                      // errors, warnings and advice, without ptxas' figures
  std::vector<v1::Resources> resources;  // by kernel, under its lowered name
  std::vector<std::string> name_errors;  // what was wrong with a launched name, without the compiler's wrapping
  bool has_other_errors = false;         // an error that is not about a launched name
};

CompilerLog ReadCompilerLog(std::string_view log);

// `text`, or its beginning and end with a line between them that says how much is missing; at most `bytes_max` bytes.
std::string CutMiddle(std::string_view text, size_t bytes_max);

}  // namespace fsr
