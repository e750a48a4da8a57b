// Everything that is wrong with an input at once, a line each, so that it can be put right in one go.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace fsr {

class Complaints {
 public:
  static constexpr size_t kShownMax = 32;

  void Add(std::string_view complaint);
  // The status's message, if it is an error.
  void Add(const absl::Status& status);
  // The same with `context` and ": " before each line of the message.
  void AddWithContext(std::string_view context, const absl::Status& status);

  bool empty() const { return count_ == 0; }
  // OK if there are none, otherwise INVALID_ARGUMENT with the first kShownMax and how many more there are.
  absl::Status ToStatus() const;

 private:
  std::vector<std::string> shown_;
  size_t count_ = 0;
};

}  // namespace fsr
