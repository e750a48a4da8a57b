#include <algorithm>
#include <charconv>
#include <utility>

#include "server/answers/edits.h"
#include "server/answers/plain_text.h"

namespace fsr {
namespace {

constexpr size_t kMarkerLengthMin = 5;
constexpr size_t kMarkerLengthMax = 9;

// "<<<<<<< SEARCH" and its like: five to nine times `mark`, then a word or nothing.
bool IsMarker(std::string_view line, char mark, bool needs_word) {
  line = TrimBlank(line);
  const size_t length = std::min(line.find_first_not_of(mark), line.size());
  if (length < kMarkerLengthMin || length > kMarkerLengthMax) return false;
  const std::string_view word = TrimBlank(line.substr(length));
  return word.empty() ? !needs_word : (mark != '=' && line[length] == ' ');
}

std::string_view WithoutTrailingSpace(std::string_view line) {
  return line.substr(0, line.find_last_not_of(" \t") + 1);  // npos + 1 is 0
}

// Collects the lines of one hunk after the other.
class HunkReader {
 public:
  explicit HunkReader(bool whole_text_is_diff) : whole_(whole_text_is_diff), inside_(whole_text_is_diff) {}

  void Read(std::string_view line, std::string_view next_line) {
    if (in_header_) {  // the "+++" of a "---"
      in_header_ = false;
      return;
    }
    if (line.substr(0, 2) == "@@") {
      End();
      inside_ = true;
      edit_.line = LineNumber(line);
    } else if (line.substr(0, 4) == "--- " && next_line.substr(0, 4) == "+++ ") {
      End();
      in_header_ = true;
      inside_ = whole_;
    } else if (IsHeader(line)) {
      End();
      inside_ = whole_;
    } else if (inside_) {
      ReadBody(line);
    }
  }

  std::vector<Edit> Finish() && {
    End();
    return std::move(edits_);
  }

 private:
  static bool IsHeader(std::string_view line) {
    return line.substr(0, 5) == "diff " || line.substr(0, 6) == "index " || line.substr(0, 4) == "*** ";
  }

  // Of "@@ -12,7 +12,8 @@".
  static int LineNumber(std::string_view line) {
    const size_t minus = line.find('-');
    int number = 0;
    if (minus != std::string_view::npos) {
      const char* const end = line.data() + line.size();
      if (std::from_chars(line.data() + minus + 1, end, number).ec != std::errc()) number = 0;
    }
    return number;
  }

  void ReadBody(std::string_view line) {
    const char mark = line.empty() ? ' ' : line[0];
    if (mark == '\\') return;  // "\ No newline at end of file"
    const bool marked = mark == ' ' || mark == '+' || mark == '-';
    if (!marked && !whole_) {
      inside_ = false;
      return;
    }
    const std::string text(marked && !line.empty() ? line.substr(1) : line);
    if (mark != '+') edit_.search.push_back(text);
    if (mark != '-') edit_.replace.push_back(text);
    changes_ = changes_ || mark == '+' || mark == '-';
  }

  void End() {
    // An empty line at the end belongs to the text around the hunk as often as to the file.
    while (!edit_.search.empty() && !edit_.replace.empty() && edit_.search.back().empty() &&
           edit_.replace.back().empty()) {
      edit_.search.pop_back();
      edit_.replace.pop_back();
    }
    if (changes_) edits_.push_back(std::move(edit_));
    edit_ = Edit();
    changes_ = false;
  }

  const bool whole_;
  bool inside_, in_header_ = false, changes_ = false;
  Edit edit_;
  std::vector<Edit> edits_;
};

}  // namespace

FoundEdits FindSearchReplace(std::string_view text) {
  enum class State { kOutside, kSearch, kReplace } state = State::kOutside;
  FoundEdits found;
  Edit edit;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    if (IsMarker(line, '<', true)) {
      edit = Edit();
      state = State::kSearch;
    } else if (state == State::kSearch && IsMarker(line, '=', false)) {
      state = State::kReplace;
    } else if (state == State::kReplace && IsMarker(line, '>', false)) {
      found.edits.push_back(std::move(edit));
      edit = Edit();
      state = State::kOutside;
    } else if (state == State::kSearch) {
      edit.search.emplace_back(WithoutTrailingSpace(line));
    } else if (state == State::kReplace) {
      edit.replace.emplace_back(line);
    }
  }
  found.cut_off = state != State::kOutside;
  return found;
}

FoundEdits FindHunks(std::string_view text, bool whole_text_is_diff) {
  HunkReader reader(whole_text_is_diff);
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    reader.Read(line, text.substr(0, 4));
  }
  return {std::move(reader).Finish(), false};
}

}  // namespace fsr
