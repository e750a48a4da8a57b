#include "server/prompts/prompt_data.h"

#include <fmt/format.h>

#include "server/answers/fenced_block.h"

namespace fsr {
namespace {

// The largest position not above `at` that does not split a UTF-8 sequence.
size_t CharacterBoundary(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u) --at;
  return at;
}

}  // namespace

std::string LatencyText(const v1::Measurement& measurement) {
  return fmt::format("{}{:.4g} us", measurement.estimated() ? "an estimated " : "", measurement.latency_us());
}

std::string CutMiddle(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  const size_t head = CharacterBoundary(text, bytes_max / 2);
  const size_t tail = CharacterBoundary(text, text.size() - bytes_max / 2);
  return fmt::format("{}\n[... {} bytes are left out here ...]\n{}", text.substr(0, head), tail - head,
                     text.substr(tail));
}

std::string CodeText(std::string_view source) { return FencedBlock(CutMiddle(source, kPromptCodeBytesMax), "cuda"); }

std::string OneLine(std::string_view text, size_t bytes_max) {
  std::string line;
  for (const char c : text.substr(0, CharacterBoundary(text, std::min(bytes_max, text.size())))) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20;
    if (c == '|' || c == '`') {
      line.push_back('\\');
    }
    line.push_back(is_control ? ' ' : c);
  }
  if (text.size() > bytes_max) line += "...";
  return line;
}

PromptData ListOf(const std::vector<std::string>& texts, const std::string& key) {
  PromptData list(PromptData::type::list);
  for (const std::string& text : texts) {
    PromptData item;
    item.set(key, text);
    list.push_back(item);
  }
  return list;
}

}  // namespace fsr
