#include "server/answers/fenced_block.h"

#include <fmt/format.h>

#include <algorithm>

namespace fsr {

std::string FencedBlock(std::string_view text, std::string_view language) {
  size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const bool ends_line = text.empty() || text.back() == '\n';
  return fmt::format("{}{}\n{}{}{}", fence, language, text, ends_line ? "" : "\n", fence);
}

}  // namespace fsr
