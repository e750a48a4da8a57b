#include "common/near_miss.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "fmt/format.h"

namespace fsr {
namespace {

// Longer names are compared no further: the cost is quadratic, and nobody mistypes a name of this length.
constexpr size_t kComparedLengthMax = 64;

}  // namespace

int EditDistance(std::string_view a, std::string_view b) {
  const auto same = [&](size_t i, size_t j) {
    return absl::ascii_tolower(static_cast<unsigned char>(a[i])) ==
           absl::ascii_tolower(static_cast<unsigned char>(b[j]));
  };
  // Three rows of the optimal string alignment table: two before, before, current.
  std::vector<int> older(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<int>(j);
  for (size_t i = 0; i < a.size(); ++i) {
    current[0] = static_cast<int>(i) + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const int replaced = previous[j] + (same(i, j) ? 0 : 1);
      current[j + 1] = std::min({replaced, previous[j + 1] + 1, current[j] + 1});
      if (i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j)) {
        current[j + 1] = std::min(current[j + 1], older[j - 1] + 1);
      }
    }
    older.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

std::string DidYouMean(std::string_view given, const std::vector<std::string>& known) {
  if (given.empty() || given.size() > kComparedLengthMax) return "";
  // A third of the letters may be wrong; more would be guessing.
  int best_distance = static_cast<int>(given.size() + 2) / 3 + 1;
  std::string_view best;
  for (const std::string& name : known) {
    if (name.size() > kComparedLengthMax) continue;
    const int distance = EditDistance(given, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean {}?", best);
}

}  // namespace fsr
