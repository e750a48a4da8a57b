// The parts of an answer: blocks of code, and the prose between them. Knows nothing of CUDA.
//
// A block is what stands between two fences (``` or ~~~ of any length, indented, quoted by "> ", or behind a sentence),
// or inside of an element such as <answer> that holds no fence. Thinking (<think>, <thinking>, <reasoning>, …) is no
// part of an answer, and neither is what stands before a </think> that nothing opens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fsr {

struct AnswerBlock {
  std::string tag;          // the language, in lower case; of a file name its ending; empty: none is given
  std::string text;         // without the fence's indentation; every line ends with "\n"
  bool closed = true;       // false: the answer, or another block's beginning, cut it off
  char mark = '`';          // of its fence
  size_t fence_length = 0;  // 0: it is an element's content
};

struct AnswerParts {
  std::vector<AnswerBlock> blocks;
  std::string prose;
  // The answer ends within its thinking; these blocks stand in it.
  bool ends_in_thinking = false;
  std::vector<AnswerBlock> thought_blocks;
};

// `text` is as PlainText leaves it. Linear in its size.
AnswerParts SplitAnswer(std::string_view text);

// Whether `line` would end a block of that fence.
bool ClosesFence(std::string_view line, char mark, size_t fence_length);

}  // namespace fsr
