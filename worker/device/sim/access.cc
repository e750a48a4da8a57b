// Loads, stores and atomics: from the lanes' addresses to host memory, checked.
#include <array>
#include <atomic>
#include <bit>
#include <cstring>

#include "worker/device/sim/address_space.h"
#include "worker/device/sim/operations.h"

namespace fsr::sim {
namespace {

// `begin` and `bytes` describe one range that all lanes should lie in. Vectorisable: no branch on a lane.
bool LocateInRange(uint64_t begin, uint64_t range_bytes, std::byte* host, uint32_t bytes, Located& located) {
  const int64_t last = static_cast<int64_t>(range_bytes) - static_cast<int64_t>(bytes);
  uint64_t bad = 0;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const int64_t offset = static_cast<int64_t>(located.address[lane] - begin);
    bad |= static_cast<uint64_t>(offset) >> 63;         // before the range
    bad |= static_cast<uint64_t>(last - offset) >> 63;  // after it
    bad |= located.address[lane] & (bytes - 1);         // misaligned
    located.host[lane] = host + offset;
  }
  return bad == 0;
}

bool LocateShared(Warp& warp, uint32_t bytes, Located& located) {
  located.space = Space::kShared;
  return LocateInRange(0, warp.block->context->shared_bytes, warp.block->shared.data(), bytes, located);
}

bool LocateLocal(Warp& warp, uint32_t bytes, Located& located) {
  located.space = Space::kLocal;
  const uint64_t range_bytes = warp.block->context->program->local_bytes_per_thread;
  if (!LocateInRange(0, range_bytes, nullptr, bytes, located)) return false;
  for (int lane = 0; lane < kWarpSize; ++lane) located.host[lane] = warp.LocalMemory(lane) + located.address[lane];
  return true;
}

void ToWindow(uint64_t begin, Located& located) {
  for (uint64_t& address : located.address) address -= begin;
}

// Lanes whose addresses lie in different slots, one by one.
bool LocateMixed(Warp& warp, const Step& step, bool generic, uint32_t bytes, AccessKind kind, LaneMask active,
                 Located& located) {
  Located one;
  const std::array<uint64_t, kWarpSize> addresses = located.address;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = LowestLane(rest);
    const LaneMask only = LaneMask{1} << lane;
    one.address.fill(addresses[lane]);
    const Space space = generic ? Space::kGeneric : Space::kGlobal;
    if (!LocateAddresses(warp, step, space, bytes, kind, only, one)) return false;
    located.host[lane] = one.host[lane];
  }
  located.space = Space::kGeneric;
  return true;
}

bool LocateBySlot(Warp& warp, const Step& step, bool generic, uint32_t bytes, AccessKind kind, LaneMask active,
                  Located& located) {
  const uint64_t slot = SlotOf(located.address[0]);
  uint64_t different = 0;
  for (const uint64_t address : located.address) different |= SlotOf(address) ^ slot;
  if (different != 0) return LocateMixed(warp, step, generic, bytes, kind, active, located);
  if (generic && (slot == kSharedSlot || slot == kLocalSlot)) {
    ToWindow(BeginOfSlot(static_cast<uint32_t>(slot)), located);
    const bool inside = slot == kSharedSlot ? LocateShared(warp, bytes, located) : LocateLocal(warp, bytes, located);
    return inside || FailAccess(warp, step, located.space, bytes, kind, active, located.address);
  }
  located.space = Space::kGlobal;
  const Region& region = warp.block->context->memory->region(slot);
  const bool allowed = kind == AccessKind::kRead || region.writable;
  if (allowed && LocateInRange(region.begin, region.bytes, region.host, bytes, located)) return true;
  return FailAccess(warp, step, Space::kGlobal, bytes, kind, active, located.address);
}

template <typename T>
T LoadHost(std::byte* from) {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(from)).load(std::memory_order_acquire);
}
template <typename T>
void StoreHost(std::byte* to, T value) {
  std::atomic_ref<T>(*reinterpret_cast<T*>(to)).store(value, std::memory_order_release);
}

template <typename T>
void LoadElement(const Located& located, size_t offset, LaneMask active, Lanes& target) {
  if (active == kFullMask) {
    for (int lane = 0; lane < kWarpSize; ++lane) target.lane[lane] = LoadHost<T>(located.host[lane] + offset);
    return;
  }
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = LowestLane(rest);
    target.lane[lane] = LoadHost<T>(located.host[lane] + offset);
  }
}

template <typename T>
void StoreElement(const Located& located, size_t offset, LaneMask active, const Lanes& value) {
  if (active == kFullMask) {
    for (int lane = 0; lane < kWarpSize; ++lane)
      StoreHost(located.host[lane] + offset, static_cast<T>(value.lane[lane]));
    return;
  }
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = LowestLane(rest);
    StoreHost(located.host[lane] + offset, static_cast<T>(value.lane[lane]));
  }
}

void ExtendSign(const AccessStep& access, LaneMask active, Lanes& target) {
  const int up = 64 - access.sign_from_bits;
  const uint64_t keep = access.sign_to_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << access.sign_to_bits) - 1;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    target.lane[lane] = static_cast<uint64_t>(static_cast<int64_t>(target.lane[lane] << up) >> up) & keep;
  }
}

}  // namespace

void ComputeAddresses(const Warp& warp, const MemoryOperand& where, LaneMask active, Located& located) {
  const uint64_t offset = where.offset + (where.frame_relative ? warp.frame->local_begin : 0);
  if (!where.base.exists()) {
    located.address.fill(offset);
    return;
  }
  const Lanes& base = *warp.Value(where.base);
  for (int lane = 0; lane < kWarpSize; ++lane) located.address[lane] = base.lane[lane] + offset;
  if (where.narrow) {
    for (uint64_t& address : located.address) address &= kFullMask;
  }
  if (active == kFullMask) return;
  const uint64_t known = located.address[LowestLane(active)];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((active >> lane & 1) == 0) located.address[lane] = known;
  }
}

// The cost model hears of what went to memory; constants and parameters are free there.
void TellTally(Warp& warp, const Located& located, uint32_t bytes, AccessKind kind, LaneMask active) {
  Tally* tally = warp.block->tally;
  if (tally == nullptr) return;
  switch (located.space) {
    case Space::kShared:
      tally->Shared(located.address, active, bytes, kind == AccessKind::kAtomic);
      ++warp.totals.shared_requests;
      break;
    case Space::kLocal:
      tally->Local(active, bytes, kind == AccessKind::kWrite);
      ++warp.totals.global_requests;
      break;
    case Space::kGlobal:
      if (SlotOf(located.address[0]) < kFirstBufferSlot) break;
      tally->Global(warp.block->index, located.address, active, bytes, kind == AccessKind::kRead,
                    kind == AccessKind::kAtomic);
      ++warp.totals.global_requests;
      break;
    default:
      break;
  }
}

bool Locate(Warp& warp, const Step& step, const MemoryOperand& where, uint32_t bytes, AccessKind kind, LaneMask active,
            Located& located) {
  if (where.space == Space::kFrameParameter) {
    std::byte* parameters = warp.frame->parameters.data() + where.offset;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      located.host[lane] = parameters + static_cast<size_t>(lane) * warp.frame->function->parameter_bytes;
    }
    located.space = Space::kFrameParameter;
    return true;
  }
  ComputeAddresses(warp, where, active, located);
  return LocateAddresses(warp, step, where.space, bytes, kind, active, located);
}

bool LocateAddresses(Warp& warp, const Step& step, Space space, uint32_t bytes, AccessKind kind, LaneMask active,
                     Located& located) {
  switch (space) {
    case Space::kShared:
      if (LocateShared(warp, bytes, located)) return true;
      return FailAccess(warp, step, Space::kShared, bytes, kind, active, located.address);
    case Space::kLocal:
      if (LocateLocal(warp, bytes, located)) return true;
      return FailAccess(warp, step, Space::kLocal, bytes, kind, active, located.address);
    default:
      return LocateBySlot(warp, step, space == Space::kGeneric, bytes, kind, active, located);
  }
}

bool RunLoad(Warp& warp, const Step& step, LaneMask active) {
  const AccessStep& access = warp.block->context->program->accesses[step.detail];
  const uint32_t bytes = uint32_t{access.element_bytes} * access.count;
  Located located;
  if (!Locate(warp, step, access.where, bytes, AccessKind::kRead, active, located)) return false;
  TellTally(warp, located, bytes, AccessKind::kRead, active);
  if (access.strong) warp.path().strong = true;
  for (size_t i = 0; i < access.count; ++i) {
    Lanes& target = *warp.Target(access.values[i]);
    switch (access.element_bytes) {
      case 1:
        LoadElement<uint8_t>(located, i, active, target);
        break;
      case 2:
        LoadElement<uint16_t>(located, i * 2, active, target);
        break;
      case 4:
        LoadElement<uint32_t>(located, i * 4, active, target);
        break;
      default:
        LoadElement<uint64_t>(located, i * 8, active, target);
        break;
    }
    if (access.sign_from_bits != 0) ExtendSign(access, active, target);
  }
  return true;
}

bool RunStore(Warp& warp, const Step& step, LaneMask active) {
  const AccessStep& access = warp.block->context->program->accesses[step.detail];
  const uint32_t bytes = uint32_t{access.element_bytes} * access.count;
  Located located;
  if (!Locate(warp, step, access.where, bytes, AccessKind::kWrite, active, located)) return false;
  TellTally(warp, located, bytes, AccessKind::kWrite, active);
  for (size_t i = 0; i < access.count; ++i) {
    const Lanes& value = *warp.Value(access.values[i]);
    switch (access.element_bytes) {
      case 1:
        StoreElement<uint8_t>(located, i, active, value);
        break;
      case 2:
        StoreElement<uint16_t>(located, i * 2, active, value);
        break;
      case 4:
        StoreElement<uint32_t>(located, i * 4, active, value);
        break;
      default:
        StoreElement<uint64_t>(located, i * 8, active, value);
        break;
    }
  }
  return true;
}

bool RunAtomic(Warp& warp, const Step& step, LaneMask active) {
  const AtomicStep& atomic = warp.block->context->program->atomics[step.detail];
  const uint32_t bytes = uint32_t{atomic.element_bytes} * atomic.count;
  Located located;
  if (!Locate(warp, step, atomic.where, bytes, AccessKind::kAtomic, active, located)) return false;
  TellTally(warp, located, bytes, AccessKind::kAtomic, active);
  const Lanes* swap = atomic.swap.exists() ? warp.Value(atomic.swap) : nullptr;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = LowestLane(rest);
    for (size_t i = 0; i < atomic.count; ++i) {
      const uint64_t value = warp.Value(atomic.values[i])->lane[lane];
      const uint64_t old =
          atomic.function(located.host[lane] + i * atomic.element_bytes, value, swap != nullptr ? swap->lane[lane] : 0);
      if (!atomic.destinations[i].exists()) continue;
      warp.Target(atomic.destinations[i])->lane[lane] = old;
      warp.path().strong = true;
    }
  }
  return true;
}

void RunIsSpace(Warp& warp, const Step& step, LaneMask active) {
  const IsSpaceStep& question = warp.block->context->program->is_spaces[step.detail];
  const Lanes& address = *warp.Value(question.address);
  LaneMask answer = 0;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const uint64_t slot = SlotOf(address.lane[lane]);
    bool inside = false;
    switch (question.space) {
      case Space::kShared:
        inside = slot == kSharedSlot;
        break;
      case Space::kLocal:
        inside = slot == kLocalSlot;
        break;
      case Space::kKernelParameter:
        inside = slot == kParameterSlot;
        break;
      case Space::kConst:
        inside = slot >= kFirstBufferSlot && !warp.block->context->memory->region(slot).writable;
        break;
      default:
        inside = slot >= kFirstBufferSlot && warp.block->context->memory->region(slot).writable;
        break;
    }
    answer |= LaneMask{inside} << lane;
  }
  warp.SetPredicate(question.predicate, active, answer);
}

}  // namespace fsr::sim
