// Gathers what the cost model asks for (events.h), one for each thread that runs blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "worker/device/sim/address_space.h"
#include "worker/device/sim/events.h"
#include "worker/device/sim/lanes.h"

namespace fsr::sim {

inline constexpr uint32_t kSectorBytes = 32;
inline constexpr uint32_t kLineBytes = 128;

using LaneAddresses = std::array<uint64_t, kWarpSize>;

// One bit for each sector of each buffer.
class SectorSet {
 public:
  SectorSet() : words_(kSlotCount) {}
  void Insert(uint64_t address) {
    const uint64_t offset = address - BeginOfSlot(static_cast<uint32_t>(SlotOf(address)));
    std::vector<uint64_t>& words = words_[SlotOf(address)];
    const size_t word = offset / kSectorBytes / 64;
    if (word >= words.size()) words.resize(word + word / 2 + 1);
    words[word] |= uint64_t{1} << (offset / kSectorBytes % 64);
  }
  void Merge(const SectorSet& other);
  uint64_t Count() const;

 private:
  std::vector<std::vector<uint64_t>> words_;  // by slot
};

// How a warp's access to shared memory is served: passes over the 32 banks of 4 bytes. Accesses of 8 and 16 bytes a
// lane are made by half and quarter warps. Lanes that want the same word share a pass.
struct Wavefronts {
  uint32_t passes = 0;
  uint32_t ideal = 0;  // without conflicts: one a part of the warp
};
Wavefronts SharedWavefronts(const LaneAddresses& address, LaneMask active, uint32_t bytes);

class Tally {
 public:
  Tally() : l1_(kL1Sectors, 0) {}

  // The block whose events are gathered from now on.
  void SetBlock(BlockEvents* events) { events_ = events; }

  void Instruction(Pipe pipe, int lanes) {
    ++events_->warp_instructions[static_cast<size_t>(pipe)];
    events_->thread_instructions += static_cast<uint64_t>(lanes);
  }
  void Branch() { ++events_->divergent_branches; }
  void Barrier() { ++events_->barriers; }
  void TensorMultiplyAdds(uint64_t count) { events_->tensor_multiply_adds += count; }
  void Global(uint64_t block, const LaneAddresses& address, LaneMask active, uint32_t bytes, bool read, bool atomic);
  void Local(LaneMask active, uint32_t bytes, bool write);
  void Shared(const LaneAddresses& address, LaneMask active, uint32_t bytes, bool atomic);

  const SectorSet& read() const { return read_; }
  const SectorSet& written() const { return written_; }
  const SectorSet& atomic() const { return atomic_; }
  uint64_t l1_misses() const { return l1_misses_; }

 private:
  // A direct-mapped cache of 256 KiB that each block starts cold: repeats within a block are hits.
  static constexpr size_t kL1Sectors = 8192;

  BlockEvents* events_ = nullptr;
  SectorSet read_, written_, atomic_;
  std::vector<uint64_t> l1_;
  uint64_t l1_misses_ = 0;
};

}  // namespace fsr::sim
