#include "server/generators/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include "common/launch_plan.h"
#include "server/generators/generator.h"

namespace fsr {
namespace {

constexpr std::string_view kHowToAnswer =
    "Answer with the whole candidate file in one fenced block that begins with ```cuda and ends with ```: the "
    "`// fsr:` lines, then the kernel.";

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string_view TakeLine(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

// A line of at least three backticks or tildes, as CommonMark has it.
struct Fence {
  char mark = '`';
  size_t length = 0;
  std::string_view info;
};

std::optional<Fence> ParseFence(std::string_view line) {
  const size_t indent = line.find_first_not_of(' ');
  if (indent == std::string_view::npos || indent > 3) return std::nullopt;
  line.remove_prefix(indent);
  const char mark = line[0];
  if (mark != '`' && mark != '~') return std::nullopt;
  const size_t length = std::min(line.find_first_not_of(mark), line.size());
  if (length < 3) return std::nullopt;
  const std::string_view info = Trim(line.substr(length));
  if (mark == '`' && info.find('`') != std::string_view::npos) return std::nullopt;
  return Fence{mark, length, info};
}

struct Block {
  std::string tag;  // lower case
  std::string text;
};

// A block that is not closed goes to the end, as CommonMark has it: the compiler says what is missing.
std::vector<Block> FencedBlocks(std::string_view text) {
  std::vector<Block> blocks;
  std::optional<Fence> open;
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::optional<Fence> fence = ParseFence(line);
    if (!open) {
      if (!fence) continue;
      open = fence;
      std::string tag(fence->info.substr(0, fence->info.find_first_of(" \t{,:")));
      std::transform(tag.begin(), tag.end(), tag.begin(), [](unsigned char c) { return std::tolower(c); });
      blocks.push_back({std::move(tag), ""});
    } else if (fence && fence->mark == open->mark && fence->length >= open->length && fence->info.empty()) {
      open.reset();
    } else {
      blocks.back().text.append(line);
      blocks.back().text.push_back('\n');
    }
  }
  return blocks;
}

bool HasKernel(std::string_view text) { return text.find("__global__") != std::string_view::npos; }

bool IsCudaTag(std::string_view tag) { return tag == "cuda" || tag == "cu" || tag == "cuda-cpp"; }

bool MayHoldCuda(std::string_view tag) {
  constexpr std::array<std::string_view, 6> kTags = {"", "c", "c++", "cpp", "cc", "cxx"};
  return IsCudaTag(tag) || std::find(kTags.begin(), kTags.end(), tag) != kTags.end();
}

// The last block with a kernel; failing that, the last one that calls itself CUDA (the compiler says what it lacks).
const Block* LastCuda(const std::vector<Block>& blocks) {
  const auto with_kernel = std::find_if(blocks.rbegin(), blocks.rend(),
                                        [](const Block& b) { return MayHoldCuda(b.tag) && HasKernel(b.text); });
  if (with_kernel != blocks.rend()) return &*with_kernel;
  const auto tagged = std::find_if(blocks.rbegin(), blocks.rend(),
                                   [](const Block& b) { return IsCudaTag(b.tag) && !Trim(b.text).empty(); });
  return tagged == blocks.rend() ? nullptr : &*tagged;
}

bool BeginsLikeSource(std::string_view text) {
  constexpr std::array<std::string_view, 14> kBeginnings = {
      "//",     "/*",     "#",     "__global__", "__device__", "__constant__", "template",
      "extern", "static", "using", "struct",     "typedef",    "constexpr",    "namespace"};
  const std::string_view trimmed = Trim(text);
  return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view beginning) { return trimmed.substr(0, beginning.size()) == beginning; });
}

std::variant<std::string, AnswerWithoutCode> WithinLimit(std::string source) {
  if (source.size() > kSourceBytesMax) {
    return AnswerWithoutCode{
        fmt::format("The candidate file is {} bytes long; at most {} are allowed. Write a shorter one.", source.size(),
                    kSourceBytesMax)};
  }
  return source;
}

}  // namespace

std::variant<std::string, AnswerWithoutCode> FindCode(std::string_view completion) {
  if (completion.size() >= kCompletionBytesMax) {
    return AnswerWithoutCode{
        fmt::format("The answer is as long as an answer may be ({} bytes), so its end was cut off. {}",
                    kCompletionBytesMax, kHowToAnswer)};
  }
  const std::vector<Block> blocks = FencedBlocks(completion);
  if (const Block* block = LastCuda(blocks)) return WithinLimit(block->text);
  if (blocks.empty() && HasKernel(completion) && BeginsLikeSource(completion)) {
    return WithinLimit(std::string(Trim(completion)) + "\n");
  }
  if (Trim(completion).empty()) return AnswerWithoutCode{fmt::format("The answer is empty. {}", kHowToAnswer)};
  if (blocks.empty()) return AnswerWithoutCode{fmt::format("The answer holds no fenced block. {}", kHowToAnswer)};
  return AnswerWithoutCode{
      fmt::format("None of the answer's {} fenced blocks is a CUDA file with a __global__ function. {}", blocks.size(),
                  kHowToAnswer)};
}

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
