#include "tests/fuzz/answer_properties.h"

#include <variant>

#include "common/launch_plan.h"
#include "common/quote.h"
#include "fmt/format.h"
#include "server/answers/answer_blocks.h"
#include "server/answers/edits.h"
#include "server/answers/fenced_block.h"
#include "server/answers/limits.h"
#include "server/answers/plain_text.h"
#include "server/answers/read_answer.h"

namespace fsr::testing {
namespace {

// More than any of our own sentences needs, apart from what it quotes.
constexpr size_t kDiagnosisBytesMax = 2000;

// Text that the reader means to change wherever it stands, and text that makes a block something else than a file.
bool IsReadOtherwise(const std::string& source) {
  if (PlainText(source) != source || Unescaped(source) != source) return true;
  const FoundEdits edits = FindSearchReplace(source);
  if (edits.cut_off || !edits.edits.empty() || !FindHunks(source, false).edits.empty()) return true;
  const std::string_view trimmed = TrimBlank(source);
  return trimmed.substr(0, 1) == "[" || trimmed.substr(0, 1) == "{";
}

std::string BrokenOfBlocks(std::string_view answer) {
  const std::string text = PlainText(answer);
  size_t bytes = 0;
  for (const AnswerBlock& block : SplitAnswer(text).blocks) {
    bytes += block.text.size();
    for (std::string_view rest = block.text; block.fence_length > 0 && !rest.empty();) {
      const std::string_view line = TakeLine(&rest);
      if (ClosesFence(line, block.mark, block.fence_length)) return "a block holds a line that closes it";
    }
  }
  // Each line of the answer stands in one block, with a line break.
  return bytes <= text.size() + 1 ? "" : "the blocks are longer than the answer";
}

std::string BrokenOfSource(const std::string& source, const AnswerContext& context) {
  if (source.empty() || source.back() != '\n') return "a source does not end with a line break";
  if (source.size() > kSourceBytesMax) return "a source is too long";
  if (IsReadOtherwise(source)) return "";
  const auto again = ReadAnswer("Words.\n" + FencedBlock(source, "cuda") + "\n", context);
  const auto* same = std::get_if<std::string>(&again);
  return same != nullptr && *same == source ? "" : "a source is not read from its own block";
}

std::string BrokenOfUnreadable(const UnreadableAnswer& unreadable) {
  if (unreadable.signature.empty() || unreadable.diagnosis.empty()) return "an unreadable answer is not explained";
  if (unreadable.diagnosis.size() > kDiagnosisBytesMax) return "a diagnosis is too long";
  if (unreadable.source.size() > kSourceBytesMax) return "an unreadable source is too long";
  const bool known = unreadable.outcome == v1::COMPILE_ERROR || unreadable.outcome == v1::LAUNCH_ERROR;
  return known ? "" : "an unreadable answer has an outcome of its own";
}

std::string Broken(std::string_view answer, const AnswerContext& context) {
  const auto read = ReadAnswer(answer, context);
  const bool was_utf8 = IsUtf8(answer) && IsUtf8(context.shown_source);
  if (const auto* unreadable = std::get_if<UnreadableAnswer>(&read)) {
    if (was_utf8 && !(IsUtf8(unreadable->diagnosis) && IsUtf8(unreadable->source))) return "what is told is not UTF-8";
    return BrokenOfUnreadable(*unreadable);
  }
  const std::string& source = std::get<std::string>(read);
  if (was_utf8 && !IsUtf8(source)) return "a source is not UTF-8";
  return BrokenOfSource(source, context);
}

}  // namespace

std::string BrokenProperty(std::string_view answer, std::string_view shown_source) {
  static const v1::Task& free_task = *new v1::Task();
  static const v1::Task& fixed_task = *[] {
    auto* task = new v1::Task();
    task->set_launch(v1::Task::FIXED);
    task->set_baseline_source("// fsr: launch f grid=(1) block=(1)\n__global__ void f() {}\n");
    return task;
  }();
  std::string broken = BrokenOfBlocks(answer);
  if (broken.empty()) broken = Broken(answer, {free_task, shown_source});
  if (broken.empty()) broken = Broken(answer, {fixed_task, shown_source});
  return broken;
}

}  // namespace fsr::testing
