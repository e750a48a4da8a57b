#include "worker/judge/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace fsr {

void ParallelFor(size_t count, size_t part, const std::function<void(size_t begin, size_t end)>& body) {
  const size_t parts = (count + part - 1) / part;
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < parts; i = next++) body(i * part, std::min(count, (i + 1) * part));
  };
  const size_t cores = std::max<size_t>(1, std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  for (size_t i = 1; i < std::min({parts, cores, kThreadsMax}); ++i) others.emplace_back(work);
  work();
}

}  // namespace fsr
