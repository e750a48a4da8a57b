#include "server/answers/read_answer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "common/launch_plan.h"
#include "common/status.h"
#include "server/answers/answer_blocks.h"
#include "server/answers/bare_code.h"
#include "server/answers/code_shape.h"
#include "server/answers/edits.h"
#include "server/answers/json_strings.h"
#include "server/answers/limits.h"
#include "server/answers/plain_text.h"
#include "server/answers/unreadable.h"

namespace fsr {
namespace {

using Result = std::variant<std::string, UnreadableAnswer>;

// Blocks in these languages hold no candidate, even where a kernel is quoted in them.
bool IsOtherLanguage(std::string_view tag) {
  static constexpr std::array<std::string_view, 24> kTags = {
      "bash", "sh",    "shell",    "zsh",  "console", "python",   "py",  "pycon", "yaml",    "yml",  "toml",   "cmake",
      "make", "ninja", "makefile", "rust", "asm",     "assembly", "ptx", "sass",  "mermaid", "html", "output", "log"};
  return std::find(kTags.begin(), kTags.end(), tag) != kTags.end();
}

bool IsDiffTag(std::string_view tag) { return tag == "diff" || tag == "patch" || tag == "udiff"; }

struct Code {
  std::string text;
  CodeShape shape;
  bool closed = true;
};

// What an answer consists of.
struct Material {
  std::vector<Code> codes;  // in order; without those that hold edits
  std::vector<Edit> edits;
  bool edits_cut_off = false;
  size_t block_count = 0;
  std::string host_code;  // of a program in another language, such as Python with a kernel in a string
};

Code MakeCode(std::string text, bool closed) {
  Code code;
  code.text = Unescaped(std::move(text));
  if (!code.text.empty() && code.text.back() != '\n') code.text.push_back('\n');
  code.shape = ShapeOf(code.text);
  code.closed = closed;
  return code;
}

// Whether edits were found in `text`.
bool AddEdits(const std::string& text, bool is_diff, Material* material) {
  FoundEdits found = FindSearchReplace(text);
  if (found.edits.empty() && !found.cut_off) found = FindHunks(text, is_diff);
  if (found.edits.empty() && !found.cut_off) return false;
  material->edits.insert(material->edits.end(), found.edits.begin(), found.edits.end());
  material->edits_cut_off = material->edits_cut_off || found.cut_off;
  return true;
}

void AddBlock(const AnswerBlock& block, Material* material) {
  ++material->block_count;
  if (IsOtherLanguage(block.tag)) {
    const bool is_program = (block.tag == "python" || block.tag == "py") && ShapeOf(block.text).has_kernel;
    if (is_program) material->host_code = "a Python program";
    return;
  }
  if (AddEdits(block.text, IsDiffTag(block.tag), material)) return;
  if (TrimBlank(block.text).empty()) return;
  material->codes.push_back(MakeCode(block.text, block.closed));
}

void AddParts(const AnswerParts& parts, Material* material) {
  for (const AnswerBlock& block : parts.blocks) {
    const std::vector<std::string> strings = JsonStrings(block.text);
    if (strings.empty()) {
      AddBlock(block, material);
      continue;
    }
    // A string may be code, or a text with blocks in it.
    for (const std::string& string : strings) {
      const AnswerParts inner = SplitAnswer(string);
      for (const AnswerBlock& inner_block : inner.blocks) AddBlock(inner_block, material);
      if (inner.blocks.empty() && ShapeOf(string).has_kernel) AddBlock({"", string, true, '`', 0}, material);
    }
  }
  AddEdits(parts.prose, false, material);
}

Material MaterialOf(const std::string& text, const AnswerParts& parts) {
  Material material;
  if (JsonStrings(text).empty()) {
    AddParts(parts, &material);
  } else {
    AnswerParts json;
    json.blocks.push_back({"json", text, true, '`', 0});
    AddParts(json, &material);
  }
  const bool has_kernel =
      std::any_of(material.codes.begin(), material.codes.end(), [](const Code& code) { return code.shape.has_kernel; });
  if (!has_kernel && material.edits.empty()) {
    if (std::string bare = BareCode(Unescaped(parts.prose)); !bare.empty()) {
      material.codes.push_back(MakeCode(std::move(bare), /*closed=*/false));
    }
  }
  return material;
}

class Chooser {
 public:
  explicit Chooser(const AnswerContext& context)
      : context_(context), is_fixed_(context.task.launch() == v1::Task::FIXED) {
    if (is_fixed_) fixed_kernels_ = LaunchedKernels(context.task.baseline_source());
  }

  bool IsWhole(const CodeShape& shape) const {
    if (!shape.host_code.empty() || !IsLaunched(shape)) return false;
    const std::vector<std::string>& needed = is_fixed_ ? fixed_kernels_ : shape.launched;
    return !needed.empty() && std::all_of(needed.begin(), needed.end(), [&](const std::string& kernel) {
      return std::find(shape.defined.begin(), shape.defined.end(), kernel) != shape.defined.end();
    });
  }

  // The last whole file among `codes`; of those whose end is missing, only if nothing else is.
  const Code* LastWhole(const std::vector<Code>& codes) const {
    const auto found = std::find_if(codes.rbegin(), codes.rend(), [&](const Code& code) {
      return IsWhole(code.shape) && (code.closed || code.shape.is_balanced);
    });
    return found == codes.rend() ? nullptr : &*found;
  }

  std::optional<std::string> Joined(const std::vector<Code>& codes) const {
    if (codes.size() < 2) return std::nullopt;
    std::string text;
    for (const Code& code : codes) {
      if (!code.closed && !code.shape.is_balanced) return std::nullopt;
      text += code.text;
    }
    CodeShape shape = ShapeOf(text);
    if (!IsWhole(shape)) return std::nullopt;
    std::sort(shape.defined.begin(), shape.defined.end());
    const bool twice = std::adjacent_find(shape.defined.begin(), shape.defined.end()) != shape.defined.end();
    return twice ? std::nullopt : std::optional<std::string>(std::move(text));
  }

  // A file that is no whole one: the best reason that can be given, or the file as it is, for whoever compiles it.
  Result Judge(const Code& code) const {
    if (code.text.size() > kSourceBytesMax) return unreadable::SourceTooLong(code.text.size());
    if (!code.closed && !code.shape.is_balanced) return unreadable::CutOff(code.text);
    if (!code.shape.host_code.empty()) return unreadable::HostCode(code.text, code.shape.host_code);
    if (!code.shape.has_kernel) return unreadable::NoKernel(code.text);
    if (!IsLaunched(code.shape)) {
      return unreadable::NoLaunch(code.text, code.shape.defined.empty() ? "" : code.shape.defined.back());
    }
    return code.text;
  }

  Result MakeEdits(const Material& material) const {
    if (material.edits_cut_off) return unreadable::CutOff("");
    const std::vector<Edit>& edits = material.edits;
    if (edits.size() == 1 && edits[0].search.empty()) {  // a diff from nothing may be the whole file
      Result whole = Edited("", edits);
      if (std::holds_alternative<std::string>(whole)) return whole;
    }
    if (context_.shown_source.empty()) return unreadable::NothingToEdit();
    return Edited(context_.shown_source, edits);
  }

 private:
  bool IsLaunched(const CodeShape& shape) const { return is_fixed_ || shape.has_launch_line; }

  Result Edited(std::string_view file, const std::vector<Edit>& edits) const {
    const absl::StatusOr<std::string> edited = ApplyEdits(PlainText(file), edits);
    if (!edited.ok()) return unreadable::EditFails(MessageOf(edited.status()));
    return Judge(MakeCode(*edited, /*closed=*/true));
  }

  const AnswerContext& context_;
  const bool is_fixed_;
  std::vector<std::string> fixed_kernels_;
};

// Nothing in the answer is a whole file, and no edits are in it: the last code that comes nearest.
Result Incomplete(const Chooser& chooser, const Material& material, std::string_view prose) {
  const auto last = [&](const auto& condition) -> const Code* {
    const auto found = std::find_if(material.codes.rbegin(), material.codes.rend(), condition);
    return found == material.codes.rend() ? nullptr : &*found;
  };
  const Code* nearest = last([](const Code& c) { return c.shape.has_kernel && c.shape.has_launch_line; });
  if (nearest == nullptr) nearest = last([](const Code& c) { return c.shape.has_kernel; });
  if (nearest == nullptr) nearest = last([](const Code& c) { return !c.shape.host_code.empty(); });
  if (nearest != nullptr) return chooser.Judge(*nearest);
  if (!material.host_code.empty()) return unreadable::HostCode("", material.host_code);
  if (material.block_count == 0 && unreadable::IsRefusal(prose)) return unreadable::Refusal();
  if (const Code* cut = last([](const Code& c) { return !c.closed && !c.shape.is_balanced; })) {
    return unreadable::CutOff(cut->text);
  }
  if (const Code* part = last([](const Code& c) { return c.shape.has_launch_line; })) {
    return unreadable::NoKernel(part->text);
  }
  // JSON whose last string has no end.
  const bool is_json = prose.substr(0, 1) == "{" && prose.find("__global__") != std::string_view::npos;
  return is_json ? unreadable::CutOff("") : unreadable::NoCode(material.block_count);
}

Result WithinLimit(std::string source) {
  if (source.size() > kSourceBytesMax) return unreadable::SourceTooLong(source.size());
  return source;
}

}  // namespace

std::variant<std::string, UnreadableAnswer> ReadAnswer(std::string_view completion, const AnswerContext& context) {
  if (completion.size() >= kCompletionBytesMax) return unreadable::TooLong();
  const std::string text = PlainText(completion);
  if (TrimBlank(text).empty()) return unreadable::Empty();
  const Chooser chooser(context);
  const AnswerParts parts = SplitAnswer(text);
  const Material material = MaterialOf(text, parts);
  if (const Code* whole = chooser.LastWhole(material.codes)) return WithinLimit(whole->text);
  if (!material.edits.empty() || material.edits_cut_off) return chooser.MakeEdits(material);
  if (auto joined = chooser.Joined(material.codes)) return WithinLimit(*std::move(joined));
  if (parts.ends_in_thinking && material.codes.empty()) {
    // A draft is worth its evaluation if it is a whole file.
    Material thought;
    for (const AnswerBlock& block : parts.thought_blocks) AddBlock(block, &thought);
    if (const Code* whole = chooser.LastWhole(thought.codes)) return WithinLimit(whole->text);
    return unreadable::CutOffThinking();
  }
  return Incomplete(chooser, material, parts.prose);
}

}  // namespace fsr
