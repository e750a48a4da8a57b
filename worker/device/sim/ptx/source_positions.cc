#include "worker/device/sim/ptx/source_positions.h"

#include <string_view>

namespace fsr::sim::ptx {

uint32_t SourcePositions::Add(const SourcePosition& position, const std::optional<SourcePosition>& inlined_at) {
  Node node{position, kNone};
  if (inlined_at) {
    const auto caller = latest_.find(*inlined_at);
    if (caller != latest_.end()) {
      node.caller = caller->second;
    } else {
      // The call itself may have left no instruction, so no .loc of its own.
      node.caller = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({*inlined_at, kNone});
      latest_[*inlined_at] = node.caller;
    }
  }
  const auto handle = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(node);
  latest_[position] = handle;
  return handle;
}

SourcePosition SourcePositions::Resolve(uint32_t handle, uint32_t own_file) const {
  for (uint32_t node = handle; node != kNone; node = nodes_[node].caller) {
    if (nodes_[node].position.file == own_file) return nodes_[node].position;
  }
  return nodes_[handle].position;
}

uint32_t OwnFile(const std::map<uint32_t, std::string>& files) {
  constexpr std::string_view kCandidateFile = "candidate.cu";
  for (const auto& [index, path] : files) {
    if (std::string_view(path).substr(path.rfind('/') + 1) == kCandidateFile) return index;
  }
  for (const auto& [index, path] : files) {
    if (path.find("/include/") == std::string::npos) return index;
  }
  return 0;
}

}  // namespace fsr::sim::ptx
