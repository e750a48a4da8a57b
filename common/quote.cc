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

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length == 0 || text.size() - i < length) return false;
    for (size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      // The second byte's range is narrower after four of the leads.
      const unsigned least = k > 1 ? 0x80 : lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
      const unsigned most = k > 1 ? 0xbf : lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
      if (byte < least || byte > most) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace fsr
