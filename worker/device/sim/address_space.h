// Where things lie in the simulated 64-bit address space. It is cut into slots of 64 GiB: one for each memory space and
// one for each buffer, which begins in the middle of its slot. So an address names its buffer with one shift, and an
// access far before or after a buffer is still attributed to that buffer.
#pragma once

#include <cstdint>

namespace fsr::sim {

inline constexpr int kSlotShift = 36;
inline constexpr uint32_t kSlotCount = 1u << 14;

// Addresses of slot 0 belong to nothing: a null pointer plus an index.
inline constexpr uint32_t kNullSlot = 0;
inline constexpr uint32_t kSharedSlot = 1;     // generic window onto the block's shared memory
inline constexpr uint32_t kLocalSlot = 2;      // generic window onto the thread's local memory
inline constexpr uint32_t kParameterSlot = 3;  // the kernel's parameters, read-only
inline constexpr uint32_t kCodeSlot = 4;       // addresses of functions
inline constexpr uint32_t kFirstBufferSlot = 5;

constexpr uint64_t BeginOfSlot(uint32_t slot) {
  return (uint64_t{slot} << kSlotShift) | (uint64_t{1} << (kSlotShift - 1));
}
constexpr uint64_t SlotOf(uint64_t address) { return address >> kSlotShift; }

inline constexpr uint64_t kSharedBegin = BeginOfSlot(kSharedSlot);
inline constexpr uint64_t kLocalBegin = BeginOfSlot(kLocalSlot);
inline constexpr uint64_t kParameterBegin = BeginOfSlot(kParameterSlot);
inline constexpr uint64_t kCodeBegin = BeginOfSlot(kCodeSlot);
inline constexpr uint64_t kCodeStride = 16;  // between the addresses of two functions

}  // namespace fsr::sim
