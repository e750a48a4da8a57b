// What the cost model is told: sectors, lines, conflicts.
#include "worker/device/sim/tally.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/worker/sim/kernel_harness.h"

namespace fsr::sim {
namespace {

LaneAddresses Strided(uint64_t begin, uint64_t stride) {
  LaneAddresses address;
  for (size_t lane = 0; lane < address.size(); ++lane) address[lane] = begin + lane * stride;
  return address;
}

constexpr uint64_t kBuffer = BeginOfSlot(kFirstBufferSlot);

TEST_CASE("neighbouring words are served in one pass, a column of a 32-wide tile in 32") {
  CHECK(SharedWavefronts(Strided(0, 4), kFullMask, 4).passes == 1);
  CHECK(SharedWavefronts(Strided(0, 8), kFullMask, 4).passes == 2);
  CHECK(SharedWavefronts(Strided(0, 128), kFullMask, 4).passes == 32);
  CHECK(SharedWavefronts(Strided(0, 132), kFullMask, 4).passes == 1);  // padded by one word
  CHECK(SharedWavefronts(Strided(0, 128), 0xff, 4).passes == 8);
}

TEST_CASE("lanes that want the same word share a pass") {
  CHECK(SharedWavefronts(Strided(64, 0), kFullMask, 4).passes == 1);
  LaneAddresses two = Strided(0, 0);
  for (size_t lane = 16; lane < 32; ++lane) two[lane] = 128;  // the same bank, another word
  CHECK(SharedWavefronts(two, kFullMask, 4).passes == 2);
  CHECK(SharedWavefronts(Strided(0, 1), kFullMask, 1).passes == 1);
}

TEST_CASE("wide accesses take a pass for each half or quarter of the warp") {
  CHECK(SharedWavefronts(Strided(0, 8), kFullMask, 8).passes == 2);
  CHECK(SharedWavefronts(Strided(0, 16), kFullMask, 16).passes == 4);
  CHECK(SharedWavefronts(Strided(0, 16), kFullMask, 16).ideal == 4);
  CHECK(SharedWavefronts(Strided(0, 16), 0xffff, 16).ideal == 2);
  CHECK(SharedWavefronts(Strided(0, 128), kFullMask, 8).passes == 32);
}

TEST_CASE("global requests are counted in sectors and lines") {
  Tally tally;
  BlockEvents events;
  tally.SetBlock(&events);
  tally.Global(0, Strided(kBuffer, 4), kFullMask, 4, true, false);
  CHECK(events.load_requests == 1);
  CHECK(events.load_sectors == 4);
  CHECK(events.load_lines == 1);
  CHECK(events.load_bytes == 128);
  CHECK(events.load_lane_distance == 4);
  tally.Global(0, Strided(kBuffer + 4, 4), kFullMask, 4, true, false);  // one word over: a fifth sector
  CHECK(events.load_sectors == 4 + 5);
  CHECK(events.load_lines == 1 + 2);
  tally.Global(0, Strided(kBuffer, 4096), kFullMask, 4, false, false);
  CHECK(events.store_sectors == 32);
  CHECK(events.store_lines == 32);
  LaneAddresses backwards = Strided(kBuffer, 4);
  std::reverse(backwards.begin(), backwards.end());
  tally.Global(0, backwards, kFullMask, 4, false, false);
  CHECK(events.store_sectors == 32 + 4);
  CHECK(tally.read().Count() == 5);
  CHECK(tally.written().Count() == 32 + 3);  // the first sector was among the 32
}

TEST_CASE("repeats within a block hit the first cache, in another block they do not") {
  Tally tally;
  BlockEvents events;
  tally.SetBlock(&events);
  for (int repeat = 0; repeat < 3; ++repeat) tally.Global(0, Strided(kBuffer, 4), kFullMask, 4, true, false);
  CHECK(tally.l1_misses() == 4);
  tally.Global(1, Strided(kBuffer, 4), kFullMask, 4, true, false);
  CHECK(tally.l1_misses() == 8);
  CHECK(tally.read().Count() == 4);
}

TEST_CASE("lanes that update one address are counted as a group") {
  Tally tally;
  BlockEvents events;
  tally.SetBlock(&events);
  LaneAddresses address = Strided(kBuffer, 4);
  for (size_t lane = 0; lane < 12; ++lane) address[lane * 2] = kBuffer;
  tally.Global(0, address, kFullMask, 4, false, true);
  CHECK(events.atomic_requests == 1);
  CHECK(events.atomic_same_address_max == 12);
}

// The kernels of a matrix transposition differ in what the device must move; the estimate must rank them so.
TEST_CASE("an estimate ranks a coalesced copy before a strided one, and is marked as one") {
  const auto estimate = [](const std::string& index) {
    KernelHarness kernel = KernelHarness::OfCuda(
        "extern \"C\" __global__ void k(const float* in, float* out, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  out[" +
        index +
        "] = in[i];\n"
        "}\n");
    kernel.options.estimate = true;
    constexpr size_t kCount = 1 << 18;
    kernel.Buffer("in", std::vector<float>(kCount)).Buffer("out", std::vector<float>(kCount)).Value<int32_t>(512);
    const LaunchReport report = kernel.Launch("k", {kCount / 256, 1, 1}, {256, 1, 1});
    REQUIRE(FailureText(report) == "");
    REQUIRE(report.estimate.has_value());
    CHECK(report.estimate->estimated());
    CHECK(!report.counters.empty());
    return report.estimate->latency_us();
  };
  const double coalesced = estimate("i"), strided = estimate("i % n * n + i / n");
  CHECK(coalesced > 0);
  CHECK(strided > 1.5 * coalesced);
}

TEST_CASE("without the wish for an estimate there is none") {
  KernelHarness kernel =
      KernelHarness::OfCuda("extern \"C\" __global__ void k(float* data) { data[threadIdx.x] = 1; }");
  kernel.Buffer("data", std::vector<float>(32));
  const LaunchReport report = kernel.Launch("k", {1, 1, 1}, {32, 1, 1});
  CHECK(!report.estimate.has_value());
  CHECK(report.counters.empty());
}

}  // namespace
}  // namespace fsr::sim
