#include "server/answers/unreadable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "common/launch_plan.h"
#include "server/answers/limits.h"
#include "server/answers/plain_text.h"

namespace fsr::unreadable {
namespace {

constexpr std::string_view kHowToAnswer =
    "Answer with the whole candidate file in one fenced block that begins with ```cuda and ends with ```: the "
    "`// fsr:` lines, then the kernel.";

// A file without its kernel is not worth the room in a prompt.
UnreadableAnswer Make(std::string signature, std::string diagnosis, std::string source = "") {
  if (source.size() > kSourceBytesMax) source.clear();
  return {v1::COMPILE_ERROR, std::move(signature), std::move(diagnosis), std::move(source)};
}

}  // namespace

UnreadableAnswer Empty() { return Make("answer_empty", fmt::format("The answer is empty. {}", kHowToAnswer)); }

UnreadableAnswer Refusal() {
  return Make("answer_refused",
              fmt::format("The answer holds no code, but says that none will be given. The task is an ordinary "
                          "numerical kernel; nothing else is asked. {}",
                          kHowToAnswer));
}

UnreadableAnswer TooLong() {
  return Make("answer_too_long",
              fmt::format("The answer is as long as an answer may be ({} bytes), so its end was cut off. {}",
                          kCompletionBytesMax, kHowToAnswer));
}

UnreadableAnswer CutOff(std::string source) {
  const auto lines = std::count(source.begin(), source.end(), '\n');
  const std::string where = lines > 0 ? fmt::format(", in line {} of it", lines) : "";
  return Make("answer_cut_off",
              fmt::format("The answer ends in the middle of the code{}: it was cut off. Say and think less before the "
                          "code, and write a shorter file. {}",
                          where, kHowToAnswer),
              std::move(source));
}

UnreadableAnswer CutOffThinking() {
  return Make(
      "answer_cut_off",
      fmt::format("The answer was cut off while it was still thinking, before any code. Think less. {}", kHowToAnswer));
}

UnreadableAnswer NoCode(size_t block_count) {
  if (block_count == 0) {
    return Make("answer_without_code", fmt::format("The answer holds no fenced block. {}", kHowToAnswer));
  }
  return Make("answer_without_code",
              fmt::format("None of the answer's {} blocks is a CUDA file with a __global__ function. {}", block_count,
                          kHowToAnswer));
}

UnreadableAnswer NoKernel(std::string source) {
  return Make("answer_without_kernel",
              fmt::format("The code of the answer has no __global__ function, so there is nothing to launch: it is a "
                          "part of a file. {}",
                          kHowToAnswer),
              std::move(source));
}

UnreadableAnswer NoLaunch(std::string source, std::string_view kernel) {
  UnreadableAnswer unreadable =
      Make("answer_without_launch",
           fmt::format("The file has no launch line, so nobody knows with which grid and block to launch it. Write a "
                       "comment line at the top of the file, such as\n"
                       "// fsr: launch {} grid=(ceil_div(n, 256)) block=(256)\n"
                       "with the task's own sizes in it, and keep the rest of the file.",
                       kernel.empty() ? "NAME" : kernel),
           std::move(source));
  unreadable.outcome = v1::LAUNCH_ERROR;
  return unreadable;
}

UnreadableAnswer HostCode(std::string source, std::string_view what) {
  return Make(
      "answer_with_host_code",
      fmt::format("The answer is a program with host code ({}), but a candidate is device code only: the kernel "
                  "is launched for you. Leave out main(), launches with <<<...>>>, and every call of the CUDA "
                  "runtime; write what they did as `// fsr:` lines at the top of the file: the launch as "
                  "`// fsr: launch NAME grid=(...) block=(...)`, temporary memory as `// fsr: scratch`, a "
                  "memset as `// fsr: fill`. {}",
                  what, kHowToAnswer),
      std::move(source));
}

UnreadableAnswer SourceTooLong(size_t bytes) {
  return Make("source_too_long", fmt::format("The candidate file is {} bytes long; at most {} are allowed. Write a "
                                             "shorter one.",
                                             bytes, kSourceBytesMax));
}

UnreadableAnswer NothingToEdit() {
  return Make("edit_without_file",
              fmt::format("The answer changes parts of a file, but there is no file to change. {}", kHowToAnswer));
}

UnreadableAnswer EditFails(std::string_view why) {
  return Make("edit_does_not_apply",
              fmt::format("The answer changes parts of the file that was shown, but {}. Copy the lines to be replaced "
                          "from that file as they are, or answer with the whole file in one block that begins with "
                          "```cuda and ends with ```.",
                          why));
}

bool IsRefusal(std::string_view text) {
  constexpr size_t kLookedAtBytes = 400;
  // With a typographic apostrophe, too.
  std::string begin =
      absl::StrReplaceAll(std::string(TrimBlank(text).substr(0, kLookedAtBytes)), {{"\xE2\x80\x99", "'"}});
  absl::AsciiStrToLower(&begin);
  constexpr std::array<std::string_view, 14> kPhrases = {
      "i can't",    "i cannot",       "i won't",      "i will not",      "i'm sorry",
      "i am sorry", "i'm unable",     "i am unable",  "i'm not able",    "i am not able",
      "as an ai",   "i must decline", "can't assist", "unable to assist"};
  return std::any_of(kPhrases.begin(), kPhrases.end(),
                     [&](std::string_view phrase) { return begin.find(phrase) != std::string::npos; });
}

}  // namespace fsr::unreadable
