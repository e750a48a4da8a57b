#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "common/status_macros.h"
#include "server/answers/edits.h"
#include "server/answers/limits.h"
#include "server/answers/plain_text.h"

namespace fsr {
namespace {

constexpr size_t kLineShownBytesMax = 120;

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) lines.emplace_back(TakeLine(&text));
  return lines;
}

std::string WithoutSpace(const std::string& line) {
  std::string bare;
  std::copy_if(line.begin(), line.end(), std::back_inserter(bare), [](char c) { return c != ' ' && c != '\t'; });
  return bare;
}

// Lines as they are compared, each with its place among the lines they were made of.
struct Comparable {
  std::vector<std::string> lines;
  std::vector<size_t> places;
};

enum class Manner { kTrailingSpaceIgnored, kSpaceIgnored };

Comparable MakeComparable(const std::vector<std::string>& lines, Manner manner) {
  Comparable comparable;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string line = manner == Manner::kSpaceIgnored ? WithoutSpace(lines[i])
                                                       : lines[i].substr(0, lines[i].find_last_not_of(" \t") + 1);
    if (manner == Manner::kSpaceIgnored && line.empty()) continue;
    comparable.lines.push_back(std::move(line));
    comparable.places.push_back(i);
  }
  return comparable;
}

// Where `wanted` begins in `lines`, by Knuth, Morris and Pratt: linear, whatever repeats.
std::vector<size_t> Occurrences(const std::vector<std::string>& lines, const std::vector<std::string>& wanted) {
  std::vector<size_t> found;
  if (wanted.empty() || wanted.size() > lines.size()) return found;
  std::vector<size_t> border(wanted.size() + 1, 0);  // of the first i lines: the longest that is both begin and end
  for (size_t i = 1, matched = 0; i < wanted.size(); ++i) {
    while (matched > 0 && wanted[i] != wanted[matched]) matched = border[matched];
    if (wanted[i] == wanted[matched]) ++matched;
    border[i + 1] = matched;
  }
  for (size_t i = 0, matched = 0; i < lines.size(); ++i) {
    while (matched > 0 && (matched == wanted.size() || lines[i] != wanted[matched])) matched = border[matched];
    if (lines[i] == wanted[matched]) ++matched;
    if (matched == wanted.size()) found.push_back(i + 1 - matched);
  }
  return found;
}

std::string Shown(std::string_view line) {
  line = TrimBlank(line);
  if (line.size() <= kLineShownBytesMax) return fmt::format("`{}`", line);
  size_t end = kLineShownBytesMax;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // whole characters
  return fmt::format("`{}...`", line.substr(0, end));
}

std::string WhyNowhere(const std::vector<std::string>& file, const std::vector<std::string>& search) {
  const Comparable wanted = MakeComparable(search, Manner::kSpaceIgnored);
  std::vector<std::string> known = MakeComparable(file, Manner::kSpaceIgnored).lines;
  std::sort(known.begin(), known.end());
  for (size_t i = 0; i < wanted.lines.size(); ++i) {
    if (std::binary_search(known.begin(), known.end(), wanted.lines[i])) continue;
    return fmt::format("the file has no line {}", Shown(search[wanted.places[i]]));
  }
  return fmt::format("its {} lines do not stand one after the other in the file", search.size());
}

struct Range {
  size_t begin = 0, end = 0;  // lines of the file
};

absl::StatusOr<Range> FindRange(const std::vector<std::string>& file, const Edit& edit) {
  for (const Manner manner : {Manner::kTrailingSpaceIgnored, Manner::kSpaceIgnored}) {
    const Comparable lines = MakeComparable(file, manner), wanted = MakeComparable(edit.search, manner);
    const std::vector<size_t> found = Occurrences(lines.lines, wanted.lines);
    if (found.empty()) continue;
    size_t chosen = found.front();
    if (found.size() > 1) {
      if (edit.line == 0) {
        return absl::InvalidArgumentError(fmt::format(
            "its lines stand at {} places in the file, the first of them {}; give more lines around the one that is "
            "meant",
            found.size(), Shown(edit.search[wanted.places.front()])));
      }
      const auto distance = [&](size_t at) {
        return std::abs(static_cast<int64_t>(lines.places[at]) - (static_cast<int64_t>(edit.line) - 1));
      };
      chosen =
          *std::min_element(found.begin(), found.end(), [&](size_t a, size_t b) { return distance(a) < distance(b); });
    }
    return Range{lines.places[chosen], lines.places[chosen + wanted.lines.size() - 1] + 1};
  }
  return absl::InvalidArgumentError(WhyNowhere(file, edit.search));
}

bool IsBlank(const std::vector<std::string>& lines) {
  return std::all_of(lines.begin(), lines.end(), [](const std::string& line) { return TrimBlank(line).empty(); });
}

absl::Status Apply(const Edit& edit, std::vector<std::string>* file) {
  if (IsBlank(edit.search)) {
    // A new file, where there is none; otherwise nobody knows where it belongs.
    if (!IsBlank(*file)) return absl::InvalidArgumentError("it names no line of the file, so its place is unknown");
    *file = edit.replace;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Range range, FindRange(*file, edit));
  std::vector<std::string> changed(file->begin(), file->begin() + static_cast<std::ptrdiff_t>(range.begin));
  changed.insert(changed.end(), edit.replace.begin(), edit.replace.end());
  changed.insert(changed.end(), file->begin() + static_cast<std::ptrdiff_t>(range.end), file->end());
  *file = std::move(changed);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ApplyEdits(std::string_view file, const std::vector<Edit>& edits) {
  if (edits.size() > kEditsMax) {
    return absl::InvalidArgumentError(
        fmt::format("there are {} edits, and at most {} are taken", edits.size(), kEditsMax));
  }
  if (file.size() * edits.size() > kEditSearchBytesMax) {
    return absl::InvalidArgumentError(
        fmt::format("{} edits are too many for a file of {} bytes", edits.size(), file.size()));
  }
  std::vector<std::string> lines = LinesOf(file);
  for (size_t i = 0; i < edits.size(); ++i) {
    const absl::Status applied = Apply(edits[i], &lines);
    if (applied.ok()) continue;
    return absl::InvalidArgumentError(
        fmt::format("edit {} of {} does not apply: {}", i + 1, edits.size(), std::string(applied.message())));
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace fsr
