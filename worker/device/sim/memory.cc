#include "worker/device/sim/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

#include "absl/status/status.h"

namespace fsr::sim {

Memory::Memory(uint64_t bytes_max) : bytes_max_(bytes_max), regions_(kSlotCount) {}

Memory::~Memory() {
  for (uint32_t slot = kFirstBufferSlot; slot < kSlotCount; ++slot) {
    if (regions_[slot].host != nullptr) Free(slot);
  }
}

absl::StatusOr<uint32_t> Memory::Allocate(std::string_view name, uint64_t bytes, bool writable) {
  if (bytes > bytes_max_ - bytes_used_) {
    return absl::ResourceExhaustedError(fmt::format("{} needs {} bytes of device memory, and {} of {} are left.", name,
                                                    bytes, bytes_max_ - bytes_used_, bytes_max_));
  }
  // Round robin, so that a freed slot stays recognisable for as long as possible.
  uint32_t slot = kNullSlot;
  for (uint32_t tried = kFirstBufferSlot; tried < kSlotCount && slot == kNullSlot; ++tried) {
    if (regions_[next_slot_].host == nullptr) slot = next_slot_;
    next_slot_ = next_slot_ + 1 == kSlotCount ? kFirstBufferSlot : next_slot_ + 1;
  }
  if (slot == kNullSlot) {
    return absl::ResourceExhaustedError(
        fmt::format("{} would be buffer {} of the device, the most are {}.", name, kSlotCount, kSlotCount));
  }
  void* host = mmap(nullptr, std::max<uint64_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (host == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        fmt::format("This machine cannot give {} bytes of memory for {}.", bytes, name));
  }
  bytes_used_ += bytes;
  regions_[slot] = {BeginOfSlot(slot), bytes, static_cast<std::byte*>(host), writable, false, std::string(name)};
  return slot;
}

void Memory::Free(uint32_t slot) {
  Region& region = regions_[slot];
  munmap(region.host, std::max<uint64_t>(region.bytes, 1));
  bytes_used_ -= region.bytes;
  region.host = nullptr;
  region.bytes = 0;
  region.freed = true;
}

void Memory::ShowParameters(std::byte* host, uint64_t bytes) {
  regions_[kParameterSlot] = {kParameterBegin, bytes, host, false, false, "the kernel's parameters"};
}

}  // namespace fsr::sim
