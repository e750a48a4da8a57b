// A loop over bytes on all cores.
#pragma once

#include <cstddef>
#include <functional>

namespace fsr {

inline constexpr size_t kThreadsMax = 16;

// Calls `body(begin, end)` for [0, count) cut into parts of `part`, each once, on as many threads as there are cores
// (at most kThreadsMax); a single part runs on the calling thread. Returns when all are done.
void ParallelFor(size_t count, size_t part, const std::function<void(size_t begin, size_t end)>& body);

}  // namespace fsr
