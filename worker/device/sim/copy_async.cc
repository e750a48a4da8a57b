// cp.async: the source is read when the instruction runs, the destination is written when the thread waits for the
// group. Both are allowed by the PTX ISA, and a kernel that forgets to wait reads what was there before.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "worker/device/sim/operations.h"

namespace fsr::sim {

bool RunCopyAsync(Warp& warp, const Step& step, LaneMask active) {
  const CopyAsyncStep& copy = warp.block->context->program->copies[step.detail];
  const Lanes* source_bytes = copy.source_bytes.exists() ? warp.Value(copy.source_bytes) : nullptr;
  const LaneMask ignored = copy.ignore_source.exists() ? warp.Predicate(copy.ignore_source) : 0;
  Located to, from;
  if (!Locate(warp, step, copy.to, copy.bytes, AccessKind::kWrite, active, to)) return false;
  // Lanes that read nothing may have any source address.
  LaneMask reading = active & ~ignored;
  for (LaneMask rest = reading; rest != 0 && source_bytes != nullptr; rest &= rest - 1) {
    const int lane = LowestLane(rest);
    if (source_bytes->lane[lane] == 0) reading &= ~(LaneMask{1} << lane);
  }
  if (reading != 0) {
    if (!Locate(warp, step, copy.from, copy.bytes, AccessKind::kRead, reading, from)) return false;
    if (warp.block->tally != nullptr) {
      warp.block->tally->Global(warp.block->index, from.address, reading, copy.bytes, true, false);
      warp.block->tally->Shared(to.address, active, copy.bytes, false);
      ++warp.totals.global_requests;
    }
  }
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = LowestLane(rest);
    PendingCopy pending;
    pending.to = to.host[lane];
    pending.lane = static_cast<uint8_t>(lane);
    pending.bytes = copy.bytes;
    pending.group = warp.copy_groups[static_cast<size_t>(lane)];
    if ((reading >> lane & 1) != 0) {
      const uint64_t bytes =
          source_bytes != nullptr ? std::min<uint64_t>(source_bytes->lane[lane], copy.bytes) : copy.bytes;
      std::memcpy(pending.data.data(), from.host[lane], bytes);
    }
    warp.pending_copies.push_back(pending);
  }
  return true;
}

void Warp::FlushCopies(LaneMask lanes, uint32_t groups_left) {
  std::erase_if(pending_copies, [&](const PendingCopy& copy) {
    const bool reached = groups_left == kWaitForAll || copy.group + groups_left < copy_groups[copy.lane];
    const bool waited_for = (lanes >> copy.lane & 1) != 0 && reached;
    if (waited_for) std::memcpy(copy.to, copy.data.data(), copy.bytes);
    return waited_for;
  });
}

}  // namespace fsr::sim
