// What holds of every answer, for random tests and for fuzzing.
#pragma once

#include <string>
#include <string_view>

namespace fsr::testing {

// Reads `answer` as an answer to a prompt that showed `shown_source`, for tasks with a free and with a fixed launch.
// Empty if all holds, else what does not.
std::string BrokenProperty(std::string_view answer, std::string_view shown_source);

}  // namespace fsr::testing
