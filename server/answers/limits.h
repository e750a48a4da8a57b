// How much of an answer is kept and read.
#pragma once

#include <cstddef>

namespace fsr {

inline constexpr int kCompletionBytesMax = 1 << 20;

// Search/replace blocks or hunks of one answer.
inline constexpr int kEditsMax = 200;
// Bytes of a file that one answer's edits are looked for in, over all edits.
inline constexpr size_t kEditSearchBytesMax = 16 << 20;
// JSON strings that hold JSON again.
inline constexpr int kJsonDepthMax = 3;

}  // namespace fsr
