#include <fmt/format.h>

#include "server/prompts/prompt_data.h"

namespace fsr {
namespace {

// The file of arch/ for a compute capability; empty where there is none.
std::string ArchFile(const v1::DeviceFacts& device) {
  const uint32_t major = device.compute_capability_major(), minor = device.compute_capability_minor();
  if (major == 7 && minor >= 5) return "arch/turing.md";
  if (major == 8) return minor == 9 ? "arch/ada.md" : "arch/ampere.md";
  if (major == 9) return "arch/hopper.md";
  if (major >= 10 && major <= 12) return "arch/blackwell.md";
  return "";
}

std::string Bytes(uint64_t bytes) {
  if (bytes >= uint64_t{10} << 30) return fmt::format("{:.4g} GiB", static_cast<double>(bytes) / (1 << 30));
  if (bytes >= uint64_t{1} << 20) return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{:.4g} KiB", static_cast<double>(bytes) / (1 << 10));
}

std::string Limits(const v1::DeviceFacts& device) {
  return fmt::format(
      "{} threads a block, {} of shared memory a block, {} registers, {} threads and {} blocks a multiprocessor",
      device.threads_per_block_max(), Bytes(device.shared_bytes_per_block_max()), device.registers_per_sm(),
      device.threads_per_sm_max(), device.blocks_per_sm_max());
}

}  // namespace

void AddDevice(const v1::DeviceFacts& device, const PromptTemplates& templates, PromptData* data) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}, compute capability {}.{}, compiled for {}", device.name(),
                              device.compute_capability_major(), device.compute_capability_minor(),
                              device.architecture()));
  lines.push_back(fmt::format("{} multiprocessors at up to {} MHz", device.sm_count(), device.sm_clock_mhz()));
  lines.push_back(fmt::format("Memory: {}, {:.4g} GB/s; L2 cache: {}", Bytes(device.memory_bytes()),
                              device.memory_bandwidth_gb_per_s(), Bytes(device.l2_bytes())));
  if (device.f32_peak_tflops() > 0) lines.push_back(fmt::format("FP32 peak: {:.4g} TFLOP/s", device.f32_peak_tflops()));
  if (device.measured_copy_gb_per_s() > 0) {
    lines.push_back(fmt::format("A large copy was measured at {:.4g} GB/s (read and write together)",
                                device.measured_copy_gb_per_s()));
  }
  if (device.launch_overhead_us() > 0) {
    lines.push_back(fmt::format("An empty kernel takes {:.3g} us", device.launch_overhead_us()));
  }
  lines.push_back(fmt::format("At most {}; {} of shared memory a multiprocessor", Limits(device),
                              Bytes(device.shared_bytes_per_sm())));
  if (device.simulated()) {
    lines.push_back("It is simulated: results are exact, times are estimates of a cost model");
  }
  data->set("device_lines", ListOf(lines));
  data->set("device_limits", Limits(device));
  data->set("architecture", device.architecture());
  const auto arch = templates.by_file.find(ArchFile(device));
  if (arch != templates.by_file.end()) data->set("arch", arch->second);
}

}  // namespace fsr
