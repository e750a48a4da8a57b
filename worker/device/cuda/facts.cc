#include "worker/device/cuda/facts.h"

#include <fmt/format.h>

#include <cctype>

#include "common/status_macros.h"

namespace fsr::cuda {
namespace {

// CUDA cores an SM, by compute capability: CUDA C++ Programming Guide, "Arithmetic Instructions" (32-bit fma a clock).
int F32LanesPerSm(int major, int minor) {
  if (major == 7) return 64;
  if (major == 8) return minor == 0 ? 64 : 128;
  return 128;
}

}  // namespace

std::string KindOfName(const std::string& name) {
  std::string kind;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      kind += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!kind.empty() && kind.back() != '-') {
      kind += '-';
    }
  }
  while (!kind.empty() && kind.back() == '-') kind.pop_back();
  return kind;
}

std::string ArchitectureOf(int major, int minor) {
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

absl::StatusOr<v1::DeviceFacts> ReadFacts(const Driver& driver, int ordinal) {
  int count = 0;
  RETURN_IF_ERROR(ToStatus(driver, driver.DeviceGetCount(&count), "counting GPUs"));
  if (ordinal < 0 || ordinal >= count) {
    return absl::UnavailableError(
        fmt::format("There is no device cuda:{}: this machine has {} GPU(s).", ordinal, count));
  }
  CUdevice device = 0;
  RETURN_IF_ERROR(ToStatus(driver, driver.DeviceGet(&device, ordinal), "opening the GPU"));
  auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    return driver.DeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? static_cast<uint32_t>(value) : 0u;
  };
  char name[256] = {};
  RETURN_IF_ERROR(ToStatus(driver, driver.DeviceGetName(name, sizeof(name), device), "reading the GPU's name"));
  size_t memory_bytes = 0;
  RETURN_IF_ERROR(ToStatus(driver, driver.DeviceTotalMem(&memory_bytes, device), "reading the GPU's memory size"));
  CUuuid uuid{};
  RETURN_IF_ERROR(ToStatus(driver, driver.DeviceGetUuid(&uuid, device), "reading the GPU's UUID"));
  int version = 0;
  RETURN_IF_ERROR(ToStatus(driver, driver.DriverGetVersion(&version), "reading the driver's version"));

  v1::DeviceFacts facts;
  facts.set_kind(KindOfName(name));
  facts.set_name(name);
  const int major = static_cast<int>(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  const int minor = static_cast<int>(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  facts.set_compute_capability_major(static_cast<uint32_t>(major));
  facts.set_compute_capability_minor(static_cast<uint32_t>(minor));
  facts.set_architecture(ArchitectureOf(major, minor));
  facts.set_sm_count(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  facts.set_sm_clock_mhz(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000);
  facts.set_memory_clock_mhz(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) / 1000);
  // Two transfers a clock on every pin of the bus.
  facts.set_memory_bandwidth_gb_per_s(2.0 * facts.memory_clock_mhz() * 1e6 *
                                      attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8 / 1e9);
  facts.set_memory_bytes(memory_bytes);
  facts.set_l2_bytes(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  facts.set_shared_bytes_per_sm(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  facts.set_shared_bytes_per_block_max(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  facts.set_registers_per_sm(attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR));
  facts.set_threads_per_sm_max(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
  facts.set_blocks_per_sm_max(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR));
  facts.set_threads_per_block_max(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  facts.set_warp_size(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
  facts.set_f32_peak_tflops(2.0 * F32LanesPerSm(major, minor) * facts.sm_count() * facts.sm_clock_mhz() * 1e6 / 1e12);
  facts.set_driver_version(fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10));
  facts.set_toolkit_version(fmt::format("CUDA {}.{}", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10));
  std::string digits;
  for (const char byte : uuid.bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  facts.set_uuid(fmt::format("GPU-{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4), digits.substr(12, 4),
                             digits.substr(16, 4), digits.substr(20)));
  return facts;
}

}  // namespace fsr::cuda
