// The candidate in a generator's answer, and code put into text so that it can be found again.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace fsr {

// What is wrong with an answer, as sentences for the generator's next prompt.
struct AnswerWithoutCode {
  std::string diagnosis;
};

// The CUDA source in `completion`: its last fenced block that holds CUDA, or all of it where there is no fence and the
// text begins like a source file. Ends with a line break.
std::variant<std::string, AnswerWithoutCode> FindCode(std::string_view completion);

// `text` as a fenced block with the tag `language`. The fence is longer than any inside `text`, so that nothing in it
// can end the block.
std::string FencedBlock(std::string_view text, std::string_view language);

}  // namespace fsr
