#include "server/answers/plain_text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fsr {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

constexpr std::array<Replacement, 11> kCharacters = {{
    {"\xEF\xBB\xBF", ""},    // byte order mark
    {"\xE2\x80\x8B", ""},    // zero-width space
    {"\xE2\x80\x8C", ""},    // zero-width non-joiner
    {"\xE2\x80\x8D", ""},    // zero-width joiner
    {"\xE2\x81\xA0", ""},    // word joiner
    {"\xC2\xA0", " "},       // no-break space
    {"\xE2\x80\xAF", " "},   // narrow no-break space
    {"\xE2\x80\xA8", "\n"},  // line separator
    {"\xE2\x80\xA9", "\n"},  // paragraph separator
    {"\r\n", "\n"},
    {"\r", "\n"},
}};

constexpr std::array<Replacement, 9> kEntities = {{
    {"&lt;", "<"},
    {"&gt;", ">"},
    {"&amp;", "&"},
    {"&quot;", "\""},
    {"&apos;", "'"},
    {"&#39;", "'"},
    {"&#x27;", "'"},
    {"&#34;", "\""},
    {"&nbsp;", " "},
}};

template <size_t kCount>
const Replacement* Find(const std::array<Replacement, kCount>& replacements, std::string_view text) {
  const auto found = std::find_if(replacements.begin(), replacements.end(), [&](const Replacement& replacement) {
    return text.substr(0, replacement.first.size()) == replacement.first;
  });
  return found == replacements.end() ? nullptr : &*found;
}

}  // namespace

std::string PlainText(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const char first = text[0];
    const bool may_start = first == '\r' || first == '\xEF' || first == '\xE2' || first == '\xC2';
    const Replacement* replacement = may_start ? Find(kCharacters, text) : nullptr;
    plain += replacement == nullptr ? text.substr(0, 1) : replacement->second;
    text.remove_prefix(replacement == nullptr ? 1 : replacement->first.size());
  }
  return plain;
}

std::string Unescaped(std::string code) {
  if (code.find('&') == std::string::npos || code.find('<') != std::string::npos) return code;
  std::string decoded;
  decoded.reserve(code.size());
  for (std::string_view rest = code; !rest.empty();) {
    if (rest[0] != '&') {
      decoded.push_back(rest[0]);
      rest.remove_prefix(1);
      continue;
    }
    const Replacement* entity = Find(kEntities, rest);
    if (entity == nullptr) return code;
    decoded += entity->second;
    rest.remove_prefix(entity->first.size());
  }
  return decoded;
}

std::string_view TrimBlank(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string_view TakeLine(std::string_view* rest) {
  const size_t end = rest->find('\n');
  const std::string_view line = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 1);
  return line;
}

}  // namespace fsr
