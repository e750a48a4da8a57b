// Helpers on absl::Status that every layer uses.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace fsr {

// The message as a std::string (Debian's absl::string_view is not std::string_view).
inline std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// The same code, with `context` and ": " before the message. OK stays OK.
absl::Status WithContext(std::string_view context, const absl::Status& status);

// The status of a failed system call, from errno: ENOENT NOT_FOUND, EACCES PERMISSION_DENIED, ENOSPC and EDQUOT
// RESOURCE_EXHAUSTED, EADDRINUSE FAILED_PRECONDITION, otherwise INTERNAL. `what` says what was tried.
absl::Status ErrnoStatus(int error, std::string_view what);

}  // namespace fsr
