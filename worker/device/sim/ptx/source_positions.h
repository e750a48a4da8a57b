// Where an instruction comes from in the candidate's own file, by .file and .loc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace fsr::sim::ptx {

struct SourcePosition {
  uint32_t file = 0, line = 0, column = 0;
  auto operator<=>(const SourcePosition&) const = default;
};

// The .loc directives of a module, each with the one it was inlined at.
class SourcePositions {
 public:
  static constexpr uint32_t kNone = 0;

  // A handle of the position. `inlined_at` is where an earlier Add of this function put its caller.
  uint32_t Add(const SourcePosition& position, const std::optional<SourcePosition>& inlined_at);
  // Positions of the last function are no callers of the next one's.
  void StartFunction() { latest_.clear(); }

  // The innermost position in `own_file`; if there is none, that of the instruction itself.
  SourcePosition Resolve(uint32_t handle, uint32_t own_file) const;

 private:
  struct Node {
    SourcePosition position;
    uint32_t caller = kNone;  // always an earlier handle
  };
  std::vector<Node> nodes_ = {Node{}};
  std::map<SourcePosition, uint32_t> latest_;
};

// The file a person wrote: "candidate.cu" if there is one, otherwise the first that no include directory holds.
uint32_t OwnFile(const std::map<uint32_t, std::string>& files);

}  // namespace fsr::sim::ptx
