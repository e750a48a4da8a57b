// The simulated device's memory: buffers and module variables, each in its own range with nothing around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/device/sim/address_space.h"

namespace fsr::sim {

// What an address range holds. A range that was freed keeps its name for faults until its slot is used again.
struct Region {
  uint64_t begin = 0;
  uint64_t bytes = 0;  // 0: nothing is there
  std::byte* host = nullptr;
  bool writable = false;
  bool freed = false;
  std::string name;
};

// Not safe for concurrent change; concurrent reads are fine, and kernels change contents through atomics.
class Memory {
 public:
  // At most `bytes_max` are handed out in all.
  explicit Memory(uint64_t bytes_max);
  ~Memory();
  Memory(const Memory&) = delete;  // regions own mappings
  Memory& operator=(const Memory&) = delete;

  // The slot of a new zeroed range of at least one byte. RESOURCE_EXHAUSTED says how much there is.
  absl::StatusOr<uint32_t> Allocate(std::string_view name, uint64_t bytes, bool writable);
  void Free(uint32_t slot);

  // Any slot number is allowed: one that holds nothing has bytes == 0.
  const Region& region(uint64_t slot) const { return regions_[slot < kSlotCount ? slot : kNullSlot]; }
  // By slot; the interpreter reads it directly.
  const Region* regions() const { return regions_.data(); }

  // The kernel's parameters: memory of the caller, which outlives the launch.
  void ShowParameters(std::byte* host, uint64_t bytes);

 private:
  uint64_t bytes_max_;
  uint64_t bytes_used_ = 0;
  uint32_t next_slot_ = kFirstBufferSlot;
  std::vector<Region> regions_;
};

}  // namespace fsr::sim
