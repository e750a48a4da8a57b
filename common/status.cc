#include "common/status.h"

#include <cerrno>
#include <system_error>

#include "fmt/format.h"

namespace fsr {

absl::Status WithContext(std::string_view context, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), fmt::format("{}: {}", context, MessageOf(status)));
}

absl::Status ErrnoStatus(int error, std::string_view what) {
  const std::string message = fmt::format("{}: {}", what, std::generic_category().message(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EACCES:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    case EADDRINUSE:
      return absl::FailedPreconditionError(message);
    default:
      return absl::InternalError(message);
  }
}

}  // namespace fsr
