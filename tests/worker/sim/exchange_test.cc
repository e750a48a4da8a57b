// Warp-wide operations against the words of the CUDA C++ Programming Guide.
#include <bit>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/worker/sim/kernel_harness.h"

namespace fsr::sim {
namespace {

// Runs `expression` (of lane, an int) in each lane of one warp.
std::vector<int32_t> PerLane(const std::string& expression, const std::string& before = "") {
  KernelHarness kernel = KernelHarness::OfCuda("extern \"C\" __global__ void k(int* out) { int lane = threadIdx.x; " +
                                               before + " out[lane] = " + expression + "; }");
  kernel.Buffer("out", std::vector<int32_t>(32));
  REQUIRE(FailureText(kernel.Launch("k", {1, 1, 1}, {32, 1, 1})) == "");
  return kernel.Read<int32_t>("out");
}

int Value(int lane) { return lane * 10 + 1; }

TEST_CASE("shuffles within sections of each width") {
  for (const int width : {2, 8, 16, 32}) {
    for (const int by : {0, 1, 3, 7, 20}) {
      const std::string arguments = "(~0u, lane * 10 + 1, " + std::to_string(by) + ", " + std::to_string(width) + ")";
      const auto up = PerLane("__shfl_up_sync" + arguments), down = PerLane("__shfl_down_sync" + arguments);
      const auto across = PerLane("__shfl_xor_sync" + arguments), from = PerLane("__shfl_sync" + arguments);
      for (int lane = 0; lane < 32; ++lane) {
        const size_t at = static_cast<size_t>(lane);
        const int inside = lane % width, begin = lane - inside;
        CAPTURE(width, by, lane);
        CHECK(up[at] == Value(inside - by >= 0 ? lane - by : lane));
        CHECK(down[at] == Value(inside + by < width ? lane + by : lane));
        // Elements of earlier sections may be had, those of later ones not.
        CHECK(across[at] == Value((lane ^ by) < begin + width ? lane ^ by : lane));
        CHECK(from[at] == Value(begin + by % width));
      }
    }
  }
}

TEST_CASE("each lane may name another source") {
  const auto out = PerLane("__shfl_sync(~0u, lane * 10 + 1, lane * 7 + 3)");
  for (int lane = 0; lane < 32; ++lane) CHECK(out[static_cast<size_t>(lane)] == Value((lane * 7 + 3) % 32));
}

TEST_CASE("votes count the lanes that are named") {
  const auto ballot = PerLane("__ballot_sync(~0u, lane % 3 == 0)");
  const auto all = PerLane("__all_sync(~0u, lane < 32) + 2 * __all_sync(~0u, lane < 31)");
  const auto any = PerLane("__any_sync(~0u, lane == 31) + 2 * __any_sync(~0u, lane > 31)");
  const auto uniform = PerLane("u",
                               "int u; asm volatile(\"{.reg .pred p, q; setp.gt.s32 p, %1, 99; "
                               "vote.sync.uni.pred q, p, -1; selp.s32 %0, 1, 0, q;}\" : \"=r\"(u) : \"r\"(lane));");
  uint32_t thirds = 0;
  for (int lane = 0; lane < 32; lane += 3) thirds |= 1u << lane;
  for (size_t lane = 0; lane < 32; ++lane) {
    CHECK(static_cast<uint32_t>(ballot[lane]) == thirds);
    CHECK(all[lane] == 1);
    CHECK(any[lane] == 1);
    CHECK(uniform[lane] == 1);
  }
}

TEST_CASE("match finds the lanes with the same value") {
  const auto any = PerLane("__match_any_sync(~0u, lane % 5)");
  const auto wide = PerLane("__match_any_sync(~0u, (unsigned long long)(lane % 2) << 40)");
  const auto all = PerLane("m * 2 + p", "int p; unsigned m = __match_all_sync(~0u, lane / 32, &p) >> 5;");
  const auto none = PerLane("m + p", "int p; unsigned m = __match_all_sync(~0u, lane / 31, &p);");
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t fifths = 0, halves = 0;
    for (int other = 0; other < 32; ++other) {
      fifths |= static_cast<uint32_t>(other % 5 == lane % 5) << other;
      halves |= static_cast<uint32_t>(other % 2 == lane % 2) << other;
    }
    const size_t at = static_cast<size_t>(lane);
    CHECK(static_cast<uint32_t>(any[at]) == fifths);
    CHECK(static_cast<uint32_t>(wide[at]) == halves);
    CHECK(all[at] == static_cast<int32_t>((0xffffffffu >> 5) * 2 + 1));
    CHECK(none[at] == 0);
  }
}

TEST_CASE("redux folds each group of lanes by itself") {
  const std::string mask = "unsigned m = __match_any_sync(~0u, lane % 4);";
  const auto add = PerLane("__reduce_add_sync(m, lane)", mask);
  const auto least = PerLane("__reduce_min_sync(m, 5 - lane)", mask);
  const auto most = PerLane("__reduce_max_sync(m, (unsigned)(5 - lane))", mask);
  const auto bits = PerLane(
      "__reduce_xor_sync(m, lane * 77) + __reduce_or_sync(m, lane) * 10000 + "
      "__reduce_and_sync(m, lane + 64) * 1000000",
      mask);
  for (int lane = 0; lane < 32; ++lane) {
    int sum = 0, smallest = 1000, exclusive = 0, inclusive = 0, common = -1;
    uint32_t largest = 0;
    for (int other = lane % 4; other < 32; other += 4) {
      sum += other;
      smallest = std::min(smallest, 5 - other);
      largest = std::max(largest, static_cast<uint32_t>(5 - other));
      exclusive ^= other * 77;
      inclusive |= other;
      common &= other + 64;
    }
    const size_t at = static_cast<size_t>(lane);
    CHECK(add[at] == sum);
    CHECK(least[at] == smallest);
    CHECK(static_cast<uint32_t>(most[at]) == largest);
    CHECK(bits[at] == exclusive + inclusive * 10000 + common * 1000000);
  }
}

TEST_CASE("halves of a warp shuffle by themselves after they part") {
  const auto out = PerLane("v", R"(
    int v = lane;
    if (lane < 16) { for (int i = 0; i < 3; ++i) v += __shfl_xor_sync(0x0000ffffu, v, 1); }
    else { v = __shfl_down_sync(0xffff0000u, v, 2) + 1000; }
    __syncwarp();)");
  for (int lane = 0; lane < 32; ++lane) {
    const int pair = lane / 2 * 4 + 1;  // the sum of both lanes: doubled by each further step
    CHECK(out[static_cast<size_t>(lane)] == (lane < 16 ? pair * 4 : (lane < 30 ? lane + 2 : lane) + 1000));
  }
}

TEST_CASE("lanes that have exited are not waited for") {
  const auto out = PerLane("__shfl_down_sync(~0u, lane, 1)", "if (lane >= 20) return;");
  for (int lane = 0; lane < 19; ++lane) CHECK(out[static_cast<size_t>(lane)] == lane + 1);
}

TEST_CASE("one lane is elected") {
  const auto out = PerLane("chosen * 100 + leader", R"(
    unsigned leader; int chosen;
    asm volatile("{.reg .pred p; elect.sync %0|p, -1; selp.s32 %1, 1, 0, p;}" : "=r"(leader), "=r"(chosen));)");
  for (size_t lane = 0; lane < 32; ++lane) CHECK(out[lane] == (lane == 0 ? 100 : 0));
}

TEST_CASE("a mask that leaves out the lane itself is reported") {
  KernelHarness kernel = KernelHarness::OfCuda(
      "extern \"C\" __global__ void k(int* out) { out[threadIdx.x] = __shfl_xor_sync(0xffffu, threadIdx.x, 1); }");
  kernel.Buffer("out", std::vector<int32_t>(32));
  const LaunchReport report = kernel.Launch("k", {1, 1, 1}, {32, 1, 1});
  REQUIRE(report.failure.has_value());
  CHECK(report.failure->fault.kind() == "invalid_operand");
  CHECK(report.failure->fault.thread().x() == 16);
}

}  // namespace
}  // namespace fsr::sim
