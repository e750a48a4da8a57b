// Says what is wrong with an access, in words that lead to the mistake.
#include <fmt/format.h>

#include "worker/device/sim/address_space.h"
#include "worker/device/sim/operations.h"

namespace fsr::sim {
namespace {

// Accesses so near to address 0 are an index on a null pointer.
constexpr uint64_t kNullPointerBytes = uint64_t{1} << 32;

std::string_view VerbOf(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "read";
    case AccessKind::kWrite:
      return "write";
    case AccessKind::kAtomic:
      return "atomic operation";
  }
  return "access";
}

// "input + 4096", "input - 4".
std::string Place(std::string_view name, int64_t offset) {
  return offset < 0 ? fmt::format("{} - {}", name, -offset) : fmt::format("{} + {}", name, offset);
}

// Where an access of `bytes` at `offset` lies in relation to a range that it does not lie in.
std::string Distance(int64_t offset, uint32_t bytes, uint64_t range_bytes) {
  if (offset < 0) return fmt::format("{} bytes before its start ({} bytes)", -offset, range_bytes);
  const int64_t end = static_cast<int64_t>(range_bytes);
  if (offset >= end) return fmt::format("{} bytes past its end ({} bytes)", offset - end, range_bytes);
  return fmt::format("the last {} of them past its end ({} bytes)", offset + bytes - end, range_bytes);
}

bool Inside(int64_t offset, uint32_t bytes, uint64_t range_bytes) {
  return offset >= 0 && offset + static_cast<int64_t>(bytes) <= static_cast<int64_t>(range_bytes);
}

std::string Quantity(AccessKind kind, uint32_t bytes) {
  return fmt::format("{} of {} byte{}", VerbOf(kind), bytes, bytes == 1 ? "" : "s");
}

struct Question {
  std::string what;  // "write of 4 bytes"
  AccessKind kind;
  uint32_t bytes;
  uint64_t address;
};

const char* OutOfBounds(AccessKind kind) {
  return kind == AccessKind::kRead ? fault_kind::kOutOfBoundsRead : fault_kind::kOutOfBoundsWrite;
}

FaultNote InGlobal(const Question& question, const Region& region) {
  FaultNote note;
  note.address = question.address;
  const uint64_t slot = SlotOf(question.address);
  if (slot == kNullSlot && question.address < kNullPointerBytes) {
    note.kind = fault_kind::kNullPointer;
    note.what = fmt::format("{} at address {:#x}: the pointer is null", question.what, question.address);
    return note;
  }
  if (region.begin == 0) {
    note.kind = OutOfBounds(question.kind);
    note.what = fmt::format("{} at address {:#x}, which belongs to no buffer", question.what, question.address);
    return note;
  }
  const int64_t offset = static_cast<int64_t>(question.address - region.begin);
  note.parameter = region.name;
  note.parameter_offset = offset;
  const std::string place = Place(region.name, offset);
  if (region.freed) {
    note.kind = fault_kind::kFreed;
    note.what = fmt::format("{} at {}, a buffer that was freed", question.what, place);
  } else if (!Inside(offset, question.bytes, region.bytes)) {
    note.kind = OutOfBounds(question.kind);
    note.what = fmt::format("{} at {}, {}", question.what, place, Distance(offset, question.bytes, region.bytes));
  } else if (question.address % question.bytes != 0) {
    note.kind = fault_kind::kMisaligned;
    note.what = fmt::format("{} at {}, which is no multiple of {}", question.what, place, question.bytes);
  } else if (question.kind != AccessKind::kRead && !region.writable) {
    note.kind = fault_kind::kReadOnly;
    note.what = fmt::format("{} at {}, which is constant", question.what, place);
  }
  return note;
}

// Names the variable that the offset lies in or behind.
std::string NearestShared(const Program& program, int64_t offset) {
  std::string name;
  for (const SharedVariable& variable : program.shared_variables) {
    if (static_cast<int64_t>(variable.offset) <= offset) name = variable.name;
  }
  return name;
}

FaultNote InWindow(const Question& question, Space space, const LaunchContext& context) {
  FaultNote note;
  note.address = question.address;
  const bool shared = space == Space::kShared;
  const std::string_view name = shared ? "shared memory" : "local memory";
  const uint64_t range_bytes = shared ? context.shared_bytes : context.program->local_bytes_per_thread;
  const int64_t offset = static_cast<int64_t>(question.address);
  const std::string place = Place(name, offset);
  if (!Inside(offset, question.bytes, range_bytes)) {
    note.kind = OutOfBounds(question.kind);
    note.what = fmt::format("{} at {}, {}", question.what, place, Distance(offset, question.bytes, range_bytes));
    const std::string nearest = shared ? NearestShared(*context.program, offset) : "";
    if (!nearest.empty()) note.what += fmt::format(", nearest to the variable {}", nearest);
  } else if (question.address % question.bytes != 0) {
    note.kind = fault_kind::kMisaligned;
    note.what = fmt::format("{} at {}, which is no multiple of {}", question.what, place, question.bytes);
  }
  return note;
}

}  // namespace

bool FailAccess(Warp& warp, const Step& step, Space space, uint32_t bytes, AccessKind kind, LaneMask active,
                const std::array<uint64_t, kWarpSize>& address) {
  const LaunchContext& context = *warp.block->context;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = LowestLane(rest);
    const Question question{Quantity(kind, bytes), kind, bytes, address[static_cast<size_t>(lane)]};
    FaultNote note = space == Space::kGlobal ? InGlobal(question, context.memory->region(SlotOf(question.address)))
                                             : InWindow(question, space, context);
    if (!note.kind.empty()) return warp.block->Fail(warp, step, lane, std::move(note));
  }
  FaultNote note;
  note.kind = OutOfBounds(kind);
  note.what = fmt::format("{} that the device cannot make", Quantity(kind, bytes));
  return warp.block->Fail(warp, step, LowestLane(active), std::move(note));
}

}  // namespace fsr::sim
