#include "common/complaints.h"

#include <sstream>

#include "common/status.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace fsr {

void Complaints::Add(std::string_view complaint) {
  if (count_++ < kShownMax) shown_.emplace_back(complaint);
}

void Complaints::Add(const absl::Status& status) {
  if (!status.ok()) Add(MessageOf(status));
}

void Complaints::AddWithContext(std::string_view context, const absl::Status& status) {
  if (status.ok()) return;
  std::istringstream lines(MessageOf(status));
  for (std::string line; std::getline(lines, line);) Add(fmt::format("{}: {}", context, line));
}

absl::Status Complaints::ToStatus() const {
  if (count_ == 0) return absl::OkStatus();
  std::string message = fmt::format("{}", fmt::join(shown_, "\n"));
  if (count_ > kShownMax) message += fmt::format("\nand {} more", count_ - kShownMax);
  return absl::InvalidArgumentError(message);
}

}  // namespace fsr
