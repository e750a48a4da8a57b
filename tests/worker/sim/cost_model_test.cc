#include "worker/device/sim/cost_model.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "tests/worker/sim/cost_events.h"

namespace fsr::sim {
namespace {

double CounterOf(const LaunchCost& cost, std::string_view name) {
  for (const v1::Counter& counter : cost.counters) {
    if (counter.name() == name) return counter.value();
  }
  FAIL("no counter " << name);
  return 0;
}

std::string AllHints(const LaunchCost& cost) {
  std::string all;
  for (const std::string& hint : cost.hints) all += hint + "\n";
  return all;
}

bool HasHint(const LaunchCost& cost, std::string_view part) { return AllHints(cost).find(part) != std::string::npos; }

TEST_CASE("transposes and a copy take about what an H200 was measured to take") {
  const LaunchCost naive = Estimate(Transpose(8192, TransposeTile::kNone));
  CHECK(naive.microseconds == Approx(995).epsilon(0.15));
  CHECK(naive.limited_by == "l2");
  const LaunchCost tiled = Estimate(Transpose(8192, TransposeTile::kPadded));
  CHECK(tiled.microseconds == Approx(151).epsilon(0.15));
  CHECK(tiled.limited_by == "memory");
  constexpr uint64_t kBytes = uint64_t{1} << 30;
  const LaunchCost copy = Estimate(Copy(kBytes));
  const double terabytes_per_second = 2.0 * kBytes / copy.microseconds * 1e-6;
  CHECK(terabytes_per_second == Approx(4.3).epsilon(0.1));
  CHECK(copy.limited_by == "memory");
}

TEST_CASE("three transposes rank as they do on every GPU") {
  for (const std::string& name : ProfileNames()) {
    INFO(name);
    const v1::DeviceFacts device = FindProfile(name).value();
    const double naive = Estimate(Transpose(4096, TransposeTile::kNone), device).microseconds;
    const double conflicts = Estimate(Transpose(4096, TransposeTile::kConflicts), device).microseconds;
    const double padded = Estimate(Transpose(4096, TransposeTile::kPadded), device).microseconds;
    CHECK(padded < conflicts);
    CHECK(padded < 0.8 * naive);
    // Never faster than its bytes over the bandwidth of the data sheet.
    CHECK(padded > 2.0 * 4096 * 4096 * 4 / (device.memory_bandwidth_gb_per_s() * 1e3));
  }
}

TEST_CASE("an empty kernel takes the launch") {
  CountedLaunch empty;
  empty.shape = {1, 32, 16, 0};
  const LaunchCost cost = Estimate(empty);
  CHECK(cost.limited_by == "launch");
  CHECK(cost.microseconds >= 2);
  CHECK(cost.microseconds <= 5);
  CHECK(HasHint(cost, "fewer launches"));
}

TEST_CASE("arithmetic alone runs at the peak of the data sheet") {
  // 132 * 8 blocks of 256 threads fill an H200; 67 TFLOPS are 2 * 33.5e12 multiply-adds a second.
  const LaunchCost cost = Estimate(Arithmetic(132 * 8, 100000));
  const double multiply_adds = 132.0 * 8 * 256 * 100000;
  CHECK(cost.microseconds == Approx(multiply_adds / 33.5e6).epsilon(0.1));
  CHECK(cost.limited_by == "issue");
  CHECK(CounterOf(cost, "issue_utilisation") > 85);
  CHECK(CounterOf(cost, "issue_utilisation") <= 100);
}

TEST_CASE("double precision is 1/2 of single on an H100 and 1/64 on an RTX 4090") {
  const auto ratio = [](std::string_view name) {
    const v1::DeviceFacts device = FindProfile(name).value();
    CountedLaunch launch = Arithmetic(100 * device.sm_count(), 10000);
    const double single = Estimate(launch, device).microseconds;
    for (BlockEvents& block : launch.blocks)
      std::swap(Instructions(block, Pipe::kFma), Instructions(block, Pipe::kDouble));
    return Estimate(launch, device).microseconds / single;
  };
  CHECK(ratio("h100") == Approx(2).epsilon(0.15));
  CHECK(ratio("rtx4090") == Approx(64).epsilon(0.15));
}

TEST_CASE("one block more than the SMs hold evenly costs another round") {
  const double even = Estimate(Arithmetic(132, 100000)).microseconds;
  const LaunchCost one_more = Estimate(Arithmetic(133, 100000));
  CHECK(one_more.microseconds > 1.5 * even);
  CHECK(HasHint(one_more, "133 blocks over 132 SMs"));
  const double many = Estimate(Arithmetic(132 * 50, 100000)).microseconds;
  CHECK(Estimate(Arithmetic(132 * 50 + 1, 100000)).microseconds < 1.1 * many);
}

TEST_CASE("one heavy block is not hidden by many light ones") {
  CountedLaunch launch = Arithmetic(1320, 1000);
  const double light = Estimate(launch).microseconds;
  Instructions(launch.blocks[7], Pipe::kFma) = 8 * 1000000;
  launch.blocks[7].longest_warp_instructions = 1000000;
  CHECK(Estimate(launch).microseconds > 100 * light);
}

TEST_CASE("a sample of equal blocks is estimated like all of them") {
  for (const TransposeTile tile : {TransposeTile::kNone, TransposeTile::kPadded}) {
    CountedLaunch launch = Transpose(4096, tile);
    const double all = Estimate(launch).microseconds;
    launch.blocks.resize(launch.blocks.size() / 4);
    launch.touched.read /= 4;
    launch.touched.written /= 4;
    launch.touched.l1_filtered_load_sectors /= 4;
    CHECK(Estimate(launch).microseconds == Approx(all).epsilon(1e-6));
  }
}

TEST_CASE("more of anything never makes a launch faster") {
  const CountedLaunch base = Transpose(1024, TransposeTile::kPadded);
  const double before = Estimate(base).microseconds;
  const std::vector<std::function<void(BlockEvents&)>> increases = {
      [](BlockEvents& block) { Instructions(block, Pipe::kAlu) *= 50; },
      [](BlockEvents& block) { Instructions(block, Pipe::kSpecial) += 5000; },
      [](BlockEvents& block) { block.load_sectors *= 8, block.load_lines *= 8; },
      [](BlockEvents& block) { block.store_sectors *= 8, block.store_lines *= 8; },
      [](BlockEvents& block) { block.shared_wavefronts *= 32; },
      [](BlockEvents& block) { block.shared_atomic_passes += 5000; },
      [](BlockEvents& block) { block.atomic_requests += 100, block.atomic_same_address_max += 3200; },
      [](BlockEvents& block) { block.longest_warp_instructions *= 100; },
      [](BlockEvents& block) { block.longest_warp_global_requests *= 100; },
      [](BlockEvents& block) { block.longest_warp_barriers += 1000; },
      [](BlockEvents& block) { block.tensor_multiply_adds += 100000000; },
  };
  for (size_t i = 0; i < increases.size(); ++i) {
    INFO("increase " << i);
    CountedLaunch more = base;
    for (BlockEvents& block : more.blocks) increases[i](block);
    CHECK(Estimate(more).microseconds > before);
  }
  CountedLaunch touched = base;
  touched.touched.read *= 4;
  CHECK(Estimate(touched).microseconds > before);
}

TEST_CASE("the same bytes take longer with too few threads to ask for them") {
  const LaunchCost many = Estimate(Copy(uint64_t{64} << 20));
  CountedLaunch few = Copy(uint64_t{64} << 20);
  // One block of 32 threads does it all.
  BlockEvents all;
  for (const BlockEvents& block : few.blocks) {
    for (size_t pipe = 0; pipe < all.warp_instructions.size(); ++pipe) {
      all.warp_instructions[pipe] += block.warp_instructions[pipe];
    }
    all.thread_instructions += block.thread_instructions;
    all.load_requests += block.load_requests;
    all.store_requests += block.store_requests;
    all.load_sectors += block.load_sectors;
    all.store_sectors += block.store_sectors;
    all.load_lines += block.load_lines;
    all.store_lines += block.store_lines;
  }
  all.longest_warp_global_requests = all.load_requests + all.store_requests;
  all.longest_warp_instructions = 2 * all.longest_warp_global_requests;
  few.shape = {1, 32, 32, 0};
  few.blocks = {all};
  const LaunchCost slow = Estimate(few);
  CHECK(slow.microseconds > 100 * many.microseconds);
  CHECK(slow.limited_by == "latency");
  CHECK(HasHint(slow, "1 block(s) of 32 threads do not fill 132 SMs"));
}

TEST_CASE("atomics on one address are served one after another") {
  CountedLaunch launch = Arithmetic(10000, 10);
  for (BlockEvents& block : launch.blocks) {
    block.atomic_requests = block.atomic_sectors = 8;
    block.atomic_same_address_max = 8 * 32;
    Instructions(block, Pipe::kGlobal) = 8;
  }
  launch.touched.atomic = 1;
  const LaunchCost one = Estimate(launch);
  CHECK(one.limited_by == "atomics");
  CHECK(HasHint(one, "32.0 lanes of a warp on one address"));
  CHECK(CounterOf(one, "atomic_lanes_per_address") == 32);
  launch.touched.atomic = 100;
  CHECK(Estimate(launch).microseconds < 0.2 * one.microseconds);
}

TEST_CASE("data that blocks share is read from DRAM once if L2 holds it, and more often if not") {
  CountedLaunch launch = Copy(uint64_t{256} << 20);
  launch.touched.written = 0;
  launch.touched.l1_filtered_load_sectors = (uint64_t{256} << 20) / 32;
  launch.touched.read = (uint64_t{16} << 20) / 32;  // 16 MiB, read 16 times
  CHECK(CounterOf(Estimate(launch), "dram_bytes") == (16 << 20));
  CHECK(Estimate(launch).limited_by == "l2");
  launch.touched.read = (uint64_t{128} << 20) / 32;  // 128 MiB in 50 MiB of L2, read twice
  CHECK(CounterOf(Estimate(launch), "dram_bytes") > 1.01 * (128 << 20));
  CHECK(CounterOf(Estimate(launch), "dram_bytes") < 2.0 * (128 << 20));
}

TEST_CASE("hints say what is wrong with its figures") {
  const LaunchCost naive = Estimate(Transpose(4096, TransposeTile::kNone));
  CHECK(HasHint(naive, "32.0 sectors a store request where 4 would do: neighbouring threads write 16 KiB apart"));
  CHECK_FALSE(HasHint(naive, "load request"));
  const LaunchCost conflicts = Estimate(Transpose(4096, TransposeTile::kConflicts));
  CHECK(HasHint(conflicts, "16.5 passes where 1 would do"));
  CHECK(CounterOf(conflicts, "shared_bank_conflict_factor") == Approx(16.5));
  const LaunchCost padded = Estimate(Transpose(4096, TransposeTile::kPadded));
  CHECK(HasHint(padded, "Limited by device memory: 134.2 MB"));
  CHECK_FALSE(HasHint(padded, "sectors"));
  CHECK_FALSE(HasHint(padded, "passes"));
  CHECK(CounterOf(padded, "global_load_sectors_per_request") == 4);
  CHECK(CounterOf(padded, "dram_bytes") == 2.0 * 4096 * 4096 * 4);
  CHECK(CounterOf(padded, "occupancy") == 100);
}

TEST_CASE("wide accesses are no fault") {
  CHECK_FALSE(HasHint(Estimate(Copy(uint64_t{1} << 28)), "sectors a"));
  CountedLaunch uncounted = Copy(uint64_t{1} << 28);
  for (BlockEvents& block : uncounted.blocks) block.load_bytes = block.store_bytes = 0;
  CHECK_FALSE(HasHint(Estimate(uncounted), "sectors a"));
  CHECK(Estimate(uncounted).microseconds == Approx(Estimate(Copy(uint64_t{1} << 28)).microseconds));
}

TEST_CASE("idle lanes and a block that does not fit are named") {
  CountedLaunch divergent = Arithmetic(1320, 10000);
  for (BlockEvents& block : divergent.blocks) block.thread_instructions /= 4;
  CHECK(HasHint(Estimate(divergent), "8.0 of 32 lanes work"));
  CountedLaunch large = Arithmetic(132, 10000);
  large.shape.shared_bytes_per_block = 300000;
  CHECK(HasHint(Estimate(large), "A block does not fit on an SM, by its shared memory"));
}

TEST_CASE("odd input gives a finite estimate") {
  CHECK(std::isfinite(EstimateLaunch({}, {}, {}, {}).microseconds));
  CHECK(std::isfinite(Estimate({{0, 0, 0, 0}, {}, {}}).microseconds));
  CountedLaunch only_touched{{1, 1, 0, 0}, {BlockEvents{}}, {1000, 1000, 0, 0}};
  CHECK(std::isfinite(Estimate(only_touched).microseconds));
  for (const v1::Counter& counter : Estimate(only_touched).counters) {
    INFO(counter.name());
    CHECK(std::isfinite(counter.value()));
  }
}

TEST_CASE("a fill moves its bytes at the bandwidth that a GPU reaches") {
  const double microseconds = EstimateFillMicroseconds(H200(), uint64_t{4800} * 1000 * 1000);
  CHECK(microseconds > 1000);  // 4.8 GB at 4.8 TB/s
  CHECK(microseconds < 1200);
  CHECK(EstimateFillMicroseconds(H200(), 0) == Approx(H200().launch_overhead_us()));
}

}  // namespace
}  // namespace fsr::sim
