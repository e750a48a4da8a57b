#include "common/quote.h"

#include "absl/strings/ascii.h"
#include "fmt/format.h"

namespace fsr {
namespace {

constexpr size_t kQuotedBytesMax = 120;

}  // namespace

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text.substr(0, kQuotedBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isprint(byte)) {
      quoted.push_back(c);
    } else {
      quoted += fmt::format("\\x{:02x}", byte);
    }
  }
  quoted += text.size() > kQuotedBytesMax ? "...\"" : "\"";
  return quoted;
}

}  // namespace fsr
