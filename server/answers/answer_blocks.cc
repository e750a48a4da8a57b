#include "server/answers/answer_blocks.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/ascii.h"
#include "server/answers/plain_text.h"

namespace fsr {
namespace {

constexpr std::array<std::string_view, 7> kThinking = {"think",    "thinking",   "thought",   "reasoning",
                                                       "thoughts", "reflection", "scratchpad"};
constexpr std::array<std::string_view, 13> kElements = {"answer",   "final_answer", "final",   "code",     "cuda",
                                                        "source",   "file",         "kernel",  "solution", "output",
                                                        "artifact", "candidate",    "response"};
constexpr std::array<std::string_view, 4> kCudaWords = {"cuda", "cu", "cpp", "c++"};

constexpr size_t kTagBytesMax = 256;

template <size_t kCount>
bool IsOneOf(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  absl::AsciiStrToLower(&lower);
  return lower;
}

size_t RunLength(std::string_view text, char mark) { return std::min(text.find_first_not_of(mark), text.size()); }

// "<name attributes>" or "</name>" at the beginning of `text`.
struct Tag {
  std::string name;  // lower case
  bool closes = false;
  size_t length = 0;
};

std::optional<Tag> ParseTag(std::string_view text) {
  if (text.size() < 3 || text[0] != '<') return std::nullopt;
  Tag tag;
  tag.closes = text[1] == '/';
  const size_t begin = tag.closes ? 2 : 1;
  size_t end = begin;
  while (end < text.size() && (absl::ascii_isalpha(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
  const size_t close = text.find('>', end);
  if (end == begin || close == std::string_view::npos) return std::nullopt;
  if (close != end && text[end] != ' ') return std::nullopt;
  tag.name = Lower(text.substr(begin, end - begin));
  tag.length = close + 1;
  return tag;
}

// "cuda title=a.cu", "{.cpp .numberLines}", "language-cuda", "src/kernel.cu": what language that is.
std::string TagOf(std::string_view info) {
  if (info.substr(0, 2) == "{.") info.remove_prefix(2);
  std::string tag = Lower(info.substr(0, info.find_first_of(" \t{},:;")));
  if (tag.rfind("language-", 0) == 0) tag.erase(0, 9);
  if (const size_t dot = tag.rfind('.'); dot != std::string::npos) tag.erase(0, dot + 1);
  return tag;
}

// A line that begins a block or may end one.
struct Fence {
  char mark = '`';
  size_t length = 0;
  size_t indent = 0;
  bool quoted = false;  // behind "> "
  std::string_view info;
  std::string_view before;  // words that stand before it on its line
};

std::string_view Unquoted(std::string_view line) {
  if (line.empty() || line[0] != '>') return line;
  line.remove_prefix(1);
  if (!line.empty() && line[0] == ' ') line.remove_prefix(1);
  return line;
}

std::optional<Fence> ParseFence(std::string_view line) {
  Fence fence;
  if (!line.empty() && line[0] == '>') {
    fence.quoted = true;
    line = Unquoted(line);
  }
  fence.indent = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(fence.indent);
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return std::nullopt;
  fence.mark = line[0];
  fence.length = RunLength(line, fence.mark);
  fence.info = TrimBlank(line.substr(fence.length));
  if (fence.length < 3) return std::nullopt;
  // Inline code, as CommonMark has it.
  if (fence.mark == '`' && fence.info.find('`') != std::string_view::npos) return std::nullopt;
  return fence;
}

// "Here is the kernel: ```cuda".
std::optional<Fence> ParseFenceBehindWords(std::string_view line) {
  const size_t last = line.rfind('`');
  if (last == std::string_view::npos) return std::nullopt;
  const size_t begin = line.find_last_not_of('`', last);
  if (begin == std::string_view::npos || last - begin < 3) return std::nullopt;
  const std::string_view info = TrimBlank(line.substr(last + 1));
  if (!IsOneOf(Lower(info), kCudaWords)) return std::nullopt;
  Fence fence;
  fence.length = last - begin;
  fence.info = info;
  fence.before = line.substr(0, begin + 1);
  return fence;
}

// Without a "</answer>" behind it.
std::string_view WithoutClosingTag(std::string_view line) {
  const std::string_view trimmed = TrimBlank(line);
  const size_t at = trimmed.rfind("</");
  if (at == std::string_view::npos) return line;
  const std::optional<Tag> tag = ParseTag(trimmed.substr(at));
  const bool known = tag && at + tag->length == trimmed.size() && IsOneOf(tag->name, kElements);
  return known ? trimmed.substr(0, at) : line;
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : rest_(text), lower_(Lower(text)), size_(text.size()) {}

  AnswerParts Split() && {
    while (!rest_.empty()) {
      if (open_) {
        AddLineOfBlock(TakeLine(&rest_));
      } else if (!TakeTag()) {
        AddLineOutside(TakeLine(&rest_));
      }
    }
    if (open_) blocks().back().closed = false;
    if (element_) EndElement(false);
    return std::move(parts_);
  }

 private:
  std::vector<AnswerBlock>& blocks() { return parts_.ends_in_thinking ? parts_.thought_blocks : parts_.blocks; }

  // Takes a tag that means something, with the space before it; what follows it begins a line of its own.
  bool TakeTag() {
    const size_t indent = std::min(rest_.find_first_not_of(" \t"), rest_.size());
    const std::string_view line = rest_.substr(indent, kTagBytesMax);
    const std::optional<Tag> tag = ParseTag(line.substr(0, line.find('\n')));
    if (!tag) return false;
    const bool thinking = IsOneOf(tag->name, kThinking);
    if (!thinking && !IsOneOf(tag->name, kElements)) return false;
    rest_.remove_prefix(indent + tag->length);
    if (thinking && tag->closes) {
      ForgetThinking();
    } else if (thinking) {
      SkipThinking(tag->name);
    } else if (tag->closes) {
      if (element_) EndElement(true);
    } else if (!parts_.ends_in_thinking) {
      element_ = Element{parts_.prose.size(), blocks().size()};
    }
    return true;
  }

  void SkipThinking(const std::string& name) {
    if (parts_.ends_in_thinking) return;
    const size_t at = lower_.find("</" + name, size_ - rest_.size());
    if (at == std::string::npos) {
      element_.reset();
      parts_.ends_in_thinking = true;
      return;
    }
    rest_.remove_prefix(at - (size_ - rest_.size()));
    rest_.remove_prefix(std::min(rest_.find('>'), rest_.size() - 1) + 1);
  }

  void ForgetThinking() { parts_ = AnswerParts(), element_.reset(); }

  void EndElement(bool closed) {
    const bool has_fence = blocks().size() > element_->block_count;
    std::string content = parts_.prose.substr(element_->prose_begin);
    if (!has_fence && !TrimBlank(content).empty()) {
      parts_.prose.resize(element_->prose_begin);
      constexpr std::string_view kOpen = "<![CDATA[", kClose = "]]>";
      std::string_view text = TrimBlank(content);
      if (text.substr(0, kOpen.size()) == kOpen) text.remove_prefix(kOpen.size());
      if (text.size() >= kClose.size() && text.substr(text.size() - kClose.size()) == kClose) {
        text.remove_suffix(kClose.size());
      }
      blocks().push_back({"", std::string(TrimBlank(text)) + "\n", closed, '`', 0});
    }
    element_.reset();
  }

  void AddLineOutside(std::string_view line) {
    std::optional<Fence> fence = ParseFence(line);
    if (!fence) fence = ParseFenceBehindWords(line);
    if (fence) {
      AddProse(fence->before);
      Open(*fence);
      return;
    }
    // A "</answer>" behind the last line of code ends its element.
    const std::string_view kept = element_ ? WithoutClosingTag(line) : line;
    AddProse(kept);
    if (element_ && kept.size() != line.size()) EndElement(true);
  }

  void AddProse(std::string_view line) {
    if (parts_.ends_in_thinking || (line.empty() && parts_.prose.empty())) return;
    parts_.prose.append(line);
    parts_.prose.push_back('\n');
  }

  void Open(const Fence& fence) {
    open_ = fence;
    blocks().push_back({TagOf(fence.info), "", true, fence.mark, fence.length});
    // Code on the fence's own line.
    const size_t space = fence.info.find(' ');
    if (space == std::string_view::npos) return;
    const std::string_view behind = TrimBlank(fence.info.substr(space));
    if (behind.substr(0, 2) == "//" || behind.substr(0, 1) == "#" || behind.substr(0, 10) == "__global__") {
      AddText(behind);
    }
  }

  void AddLineOfBlock(std::string_view line) {
    if (open_->quoted) line = Unquoted(line);
    if (ClosesFence(line, open_->mark, open_->length)) {
      const bool ends_element = element_ && WithoutClosingTag(line).size() != line.size();
      open_.reset();
      if (ends_element) EndElement(true);
      return;
    }
    const std::optional<Fence> fence = ParseFence(line);
    if (fence && fence->mark == open_->mark && fence->length >= open_->length) {
      // It has a language, so it begins a block: the one before was never closed, or shows how to write blocks.
      blocks().back().closed = false;
      Open(*fence);
      return;
    }
    line = Unindented(line);
    // "}```"
    const std::string_view trimmed = TrimBlank(line);
    const size_t words = trimmed.find_last_not_of('`');
    if (open_->mark == '`' && words != std::string_view::npos && trimmed.size() - words - 1 >= open_->length) {
      AddText(line.substr(0, line.find_last_not_of("` \t") + 1));
      open_.reset();
      return;
    }
    AddText(line);
  }

  std::string_view Unindented(std::string_view line) const {
    line.remove_prefix(std::min({line.find_first_not_of(" \t"), open_->indent, line.size()}));
    return line;
  }

  void AddText(std::string_view line) {
    blocks().back().text.append(line);
    blocks().back().text.push_back('\n');
  }

  struct Element {
    size_t prose_begin = 0, block_count = 0;
  };

  std::string_view rest_;
  const std::string lower_;
  const size_t size_;
  AnswerParts parts_;
  std::optional<Fence> open_;
  std::optional<Element> element_;
};

}  // namespace

AnswerParts SplitAnswer(std::string_view text) { return Splitter(text).Split(); }

bool ClosesFence(std::string_view line, char mark, size_t fence_length) {
  const std::optional<Fence> fence = ParseFence(WithoutClosingTag(line));
  return fence && !fence->quoted && fence->mark == mark && fence->length >= fence_length && fence->info.empty();
}

}  // namespace fsr
