#include "worker/device/sim/tally.h"

#include <algorithm>
#include <bit>

namespace fsr::sim {
namespace {

constexpr uint32_t kBanks = 32;
constexpr uint32_t kBankBytes = 4;

// The distinct values of address / unit over the active lanes, into `out`; returns how many.
size_t DistinctUnits(const LaneAddresses& address, LaneMask active, uint32_t unit, LaneAddresses& out) {
  size_t count = 0;
  bool sorted = true;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const uint64_t value = address[static_cast<size_t>(std::countr_zero(rest))] / unit;
    if (count > 0 && value == out[count - 1]) continue;
    sorted &= count == 0 || value > out[count - 1];
    out[count++] = value;
  }
  if (sorted) return count;
  std::sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count));
  return static_cast<size_t>(std::unique(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count)) - out.begin());
}

// The most lanes that share one address: they are served one after another.
uint64_t LargestGroup(const LaneAddresses& address, LaneMask active) {
  uint64_t largest = 0;
  for (LaneMask rest = active; rest != 0;) {
    const uint64_t first = address[static_cast<size_t>(std::countr_zero(rest))];
    uint64_t size = 0;
    for (LaneMask others = rest; others != 0; others &= others - 1) {
      const int lane = std::countr_zero(others);
      if (address[static_cast<size_t>(lane)] != first) continue;
      ++size;
      rest &= ~(LaneMask{1} << lane);
    }
    largest = std::max(largest, size);
  }
  return largest;
}

uint64_t LaneBytes(LaneMask active, uint32_t bytes) { return static_cast<uint64_t>(std::popcount(active)) * bytes; }

// Between the first two active lanes.
uint64_t LaneDistance(const LaneAddresses& address, LaneMask active) {
  const LaneMask rest = active & (active - 1);
  if (rest == 0) return 0;
  const uint64_t first = address[static_cast<size_t>(std::countr_zero(active))];
  const uint64_t second = address[static_cast<size_t>(std::countr_zero(rest))];
  return first < second ? second - first : first - second;
}

// Passes for the lanes of one part of the warp: the most distinct words that one bank must give.
uint32_t PassesOfPart(const LaneAddresses& address, LaneMask active, uint32_t words_per_lane) {
  std::array<uint64_t, kWarpSize> words;
  std::array<uint8_t, kBanks> distinct{};
  uint32_t most = 0;
  size_t count = 0;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const uint64_t first = address[static_cast<size_t>(std::countr_zero(rest))] / kBankBytes;
    for (uint64_t word = first; word < first + words_per_lane; ++word) {
      const uint64_t* const end = words.data() + count;
      if (count == words.size() || std::find<const uint64_t*>(words.data(), end, word) != end) continue;
      words[count++] = word;
      most = std::max<uint32_t>(most, ++distinct[word % kBanks]);
    }
  }
  return most;
}

}  // namespace

void SectorSet::Merge(const SectorSet& other) {
  for (size_t slot = 0; slot < words_.size(); ++slot) {
    const std::vector<uint64_t>& from = other.words_[slot];
    std::vector<uint64_t>& to = words_[slot];
    if (to.size() < from.size()) to.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) to[i] |= from[i];
  }
}

uint64_t SectorSet::Count() const {
  uint64_t count = 0;
  for (const std::vector<uint64_t>& words : words_) {
    for (const uint64_t word : words) count += static_cast<uint64_t>(std::popcount(word));
  }
  return count;
}

Wavefronts SharedWavefronts(const LaneAddresses& address, LaneMask active, uint32_t bytes) {
  const uint32_t words_per_lane = std::max(bytes / kBankBytes, 1u);
  const uint32_t parts = std::min(words_per_lane, kBanks / 4);
  const uint32_t lanes_per_part = kWarpSize / parts;
  Wavefronts wavefronts;
  for (uint32_t part = 0; part < parts; ++part) {
    const LaneMask lanes = (lanes_per_part == kWarpSize ? kFullMask : (LaneMask{1} << lanes_per_part) - 1)
                           << (part * lanes_per_part);
    if ((active & lanes) == 0) continue;
    wavefronts.passes += PassesOfPart(address, active & lanes, words_per_lane);
    ++wavefronts.ideal;
  }
  return wavefronts;
}

// An aligned access of a lane never crosses a sector.
void Tally::Global(uint64_t block, const LaneAddresses& address, LaneMask active, uint32_t bytes, bool read,
                   bool atomic) {
  LaneAddresses sectors;
  const size_t sector_count = DistinctUnits(address, active, kSectorBytes, sectors);
  LaneAddresses lines;
  const size_t line_count = DistinctUnits(address, active, kLineBytes, lines);
  if (atomic) {
    ++events_->atomic_requests;
    events_->atomic_sectors += sector_count;
    events_->atomic_same_address_max += LargestGroup(address, active);
  } else if (read) {
    ++events_->load_requests;
    events_->load_sectors += sector_count;
    events_->load_lines += line_count;
    events_->load_bytes += LaneBytes(active, bytes);
    events_->load_lane_distance += LaneDistance(address, active);
  } else {
    ++events_->store_requests;
    events_->store_sectors += sector_count;
    events_->store_lines += line_count;
    events_->store_bytes += LaneBytes(active, bytes);
    events_->store_lane_distance += LaneDistance(address, active);
  }
  for (size_t i = 0; i < sector_count; ++i) {
    const uint64_t at = sectors[i] * kSectorBytes;
    if (atomic) {
      atomic_.Insert(at);
      written_.Insert(at);
      continue;  // made in L2
    }
    if (!read) {
      written_.Insert(at);
      continue;
    }
    read_.Insert(at);
    // Sector numbers take 45 bits at most; the block's number above them makes its entries its own.
    const uint64_t tag = (sectors[i] + 1) ^ (block << 45);
    uint64_t& entry = l1_[sectors[i] % kL1Sectors];
    if (entry != tag) ++l1_misses_;
    entry = tag;
  }
}

void Tally::Local(LaneMask active, uint32_t bytes, bool write) {
  // Local memory is interleaved by lane, so that lanes at the same offset are neighbours.
  const uint64_t total = LaneBytes(active, bytes);
  const uint64_t sectors = (total + kSectorBytes - 1) / kSectorBytes;
  const uint64_t lines = (total + kLineBytes - 1) / kLineBytes;
  (write ? events_->store_requests : events_->load_requests) += 1;
  (write ? events_->store_sectors : events_->load_sectors) += sectors;
  (write ? events_->store_lines : events_->load_lines) += lines;
}

void Tally::Shared(const LaneAddresses& address, LaneMask active, uint32_t bytes, bool atomic) {
  ++events_->shared_requests;
  const Wavefronts wavefronts = SharedWavefronts(address, active, bytes);
  events_->shared_wavefronts += wavefronts.passes;
  events_->shared_ideal_wavefronts += wavefronts.ideal;
  if (atomic) events_->shared_atomic_passes += LargestGroup(address, active);
}

}  // namespace fsr::sim
