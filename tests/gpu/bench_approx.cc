// approx: every approximate instruction that the simulator computes, there and on the GPU, on the same inputs.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "common/files.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "tests/gpu/bench.h"
#include "tests/gpu/instruction_sweep.h"

namespace fsr {
namespace {

constexpr char kSimulated[] = "sim:h200";
constexpr size_t kCountedSteps = 3;  // 0, 1, 2

// How far two devices' results are apart.
struct Distances {
  size_t same_bits = 0, more = 0;
  std::array<size_t, kCountedSteps> by_steps{};
  uint64_t largest = 0;
  size_t worst = 0;  // an input that is so far off

  void Add(const std::string& instruction, size_t at, uint64_t a, uint64_t b) {
    if (a == b) ++same_bits;
    const auto steps = static_cast<uint64_t>(std::abs(StepsBetween(instruction, a, b)));
    if (steps < kCountedSteps) {
      ++by_steps[steps];
    } else {
      ++more;
    }
    if (steps <= largest) return;
    largest = steps;
    worst = at;
  }
};

std::string FileName(const Approximation& approximation, size_t sweep) {
  return fmt::format("{}.{}.bin", approximation.instruction, sweep);
}

absl::Status CompareSweep(Device& gpu, Device& simulated, const Approximation& approximation, size_t number,
                          const std::string& folder, MarkdownTable& table) {
  const std::string& instruction = approximation.instruction;
  const Sweep& sweep = approximation.sweeps[number];
  ASSIGN_OR_RETURN(const std::vector<uint64_t> measured, RunSweep(gpu, approximation, sweep));
  ASSIGN_OR_RETURN(const std::vector<uint64_t> computed, RunSweep(simulated, approximation, sweep));
  Distances between, from_nearest;
  for (size_t at = 0; at < sweep.count; ++at) {
    const uint64_t nearest =
        NearestResult(instruction, InputOf(approximation, sweep, at, 0), InputOf(approximation, sweep, at, 1));
    between.Add(instruction, at, measured[at], computed[at]);
    from_nearest.Add(instruction, at, measured[at], nearest);
  }
  const size_t worst = between.largest > 0 ? between.worst : from_nearest.worst;
  table.Add({instruction, sweep.name, fmt::format("{}", sweep.count), fmt::format("{}", between.same_bits),
             fmt::format("{}", between.by_steps[0]), fmt::format("{}", between.by_steps[1]),
             fmt::format("{}", between.by_steps[2]), fmt::format("{}", between.more),
             fmt::format("{}", between.largest), fmt::format("{}", from_nearest.by_steps[0]),
             fmt::format("{}", from_nearest.largest), fmt::format("{:#x}", InputOf(approximation, sweep, worst, 0)),
             fmt::format("{:#x}", measured[worst]), fmt::format("{:#x}", computed[worst])});
  if (folder.empty() || instruction.ends_with("x2")) return absl::OkStatus();
  return WriteFileAtomically(std::filesystem::path(folder) / FileName(approximation, number),
                             EncodeCapture(approximation, sweep, measured));
}

}  // namespace

absl::Status BenchApprox(const BenchOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Device> gpu, OpenDevice(options.device));
  ASSIGN_OR_RETURN(const std::unique_ptr<Device> simulated, OpenDevice(kSimulated));
  MarkdownTable table({"instruction", "inputs", "count", "same bits", "0 ulp", "1 ulp", "2 ulp", "more", "largest",
                       "GPU gives the nearest", "GPU from the nearest, largest", "at", "GPU", "simulator"});
  const Budget budget(options);
  for (const Approximation& approximation : Approximations()) {
    for (size_t number = 0; number < approximation.sweeps.size(); ++number) {
      const absl::Status status = CompareSweep(*gpu, *simulated, approximation, number, options.folder, table);
      if (absl::IsUnimplemented(status)) {
        fmt::print(stderr, "approx: {}\n", MessageOf(status));
        continue;
      }
      RETURN_IF_ERROR(status);
    }
    fmt::print(stderr, "approx: {} after {:.0f} s\n", approximation.instruction, budget.Spent());
  }
  table.Print();
  fmt::print("{} against {}.\n", options.device, kSimulated);
  return absl::OkStatus();
}

}  // namespace fsr
