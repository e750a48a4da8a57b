// A task folder into a Task message, and the checks that every task must pass.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fsr/v1/task.pb.h"

namespace fsr {

inline constexpr int kTaskYamlBytesMax = 256 * 1024;
inline constexpr int kParametersMax = 32;
inline constexpr int kCasesMax = 64;

// Reads task.yaml, oracle.cu, baseline.cu and, if there, tunable.cu, then CheckTask. NOT_FOUND names the missing file;
// INVALID_ARGUMENT names file, line and field.
absl::StatusOr<v1::Task> LoadTask(const std::filesystem::path& folder);

// The text of a task.yaml into a Task without sources. An unknown or misspelt field, a wrong type or an unknown enum
// value is INVALID_ARGUMENT with "task.yaml:LINE: FIELD: …" and, where one is near, the name that was probably meant.
absl::StatusOr<v1::Task> ParseTaskYaml(std::string_view yaml);

// All that can be checked without a compiler or a device: names, types, shapes, sizes that overflow, cases that lack a
// size, tolerance, launch lines of the sources, expressions. INVALID_ARGUMENT with every complaint, a line each.
absl::Status CheckTask(const v1::Task& task);

// The case's own name, or its sizes written out.
std::string NameOf(const v1::Case& which);

// The content address of the whole task.
std::string TaskHash(const v1::Task& task);

// A candidate's source without what cannot change its meaning (comments other than `// fsr:` lines, white space), for
// de-duplication.
std::string NormalizedSource(std::string_view source);

}  // namespace fsr
