// The candidate in an answer, whatever the answer looks like.
//
// What is taken, the first that there is:
// 1. the last block that is a whole candidate file: it defines every kernel that its `// fsr: launch` lines name (or
//    those of the task, where the launch is fixed), and has no host code;
// 2. the shown file with the answer's edits made to it (search/replace blocks, a unified diff);
// 3. all blocks with code, joined in order, if only together they are a whole file, and no kernel is defined twice;
// 4. the last block with a kernel and a launch line: whoever compiles it says what it lacks.
// A block is fenced, or an element's content, or a string of JSON; an answer without any is code as a whole, but for
// sentences before and after it.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/task.pb.h"

namespace fsr {

struct AnswerContext {
  const v1::Task& task;
  std::string_view shown_source;  // the file that the prompt showed, which edits are made to; empty: none
};

// An answer that holds no candidate: what becomes of it instead of an evaluation.
struct UnreadableAnswer {
  v1::Outcome outcome = v1::COMPILE_ERROR;
  std::string signature;  // stable; the kinds stand in unreadable.h
  std::string diagnosis;  // sentences for the generator's next prompt
  std::string source;     // the code that is not good enough; may be empty
};

// The CUDA source in `completion`, which ends with a line break and has at most kSourceBytesMax bytes. Accepts any
// bytes, in time linear in their number; the result is UTF-8 where the completion is.
std::variant<std::string, UnreadableAnswer> ReadAnswer(std::string_view completion, const AnswerContext& context);

}  // namespace fsr
