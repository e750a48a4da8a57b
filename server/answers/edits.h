// Answers that change a file instead of giving it: search/replace blocks and unified diffs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fsr {

// These lines, which stand in the file, are replaced by those.
struct Edit {
  std::vector<std::string> search, replace;
  int line = 0;  // where a diff says that they stand, from 1; 0: it does not say
};

struct FoundEdits {
  std::vector<Edit> edits;  // in order
  bool cut_off = false;     // the last one has no end; it is not among them
};

// Between lines such as "<<<<<<< SEARCH", "=======" and ">>>>>>> REPLACE".
FoundEdits FindSearchReplace(std::string_view text);
// The hunks of a unified diff, or of a patch without line numbers. `whole_text_is_diff`: of a block that is nothing
// else, so that lines without a mark are context and "@@" may be missing.
FoundEdits FindHunks(std::string_view text, bool whole_text_is_diff);

// `file` with the edits made one after the other. The lines are looked for as they are, then without regard to white
// space and empty lines. INVALID_ARGUMENT names the first edit that does not apply, and why, for the one who wrote it.
absl::StatusOr<std::string> ApplyEdits(std::string_view file, const std::vector<Edit>& edits);

}  // namespace fsr
