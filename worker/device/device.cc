#include "worker/device/device.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "worker/device/cuda/cuda_device.h"
#include "worker/device/sim/profiles.h"
#include "worker/device/sim/simulated_device.h"

namespace fsr {
namespace {

constexpr std::string_view kSimulated = "sim:";
constexpr std::string_view kCuda = "cuda:";

absl::Status UnknownDevice(std::string_view name) {
  return absl::InvalidArgumentError(
      fmt::format("There is no device {}; a device is cuda:N, or sim:PROFILE with one of the profiles {}.", name,
                  fmt::join(sim::ProfileNames(), ", ")));
}

// N of "cuda:N".
std::optional<int> CudaOrdinal(std::string_view name) {
  if (!name.starts_with(kCuda)) return std::nullopt;
  const std::string_view digits = name.substr(kCuda.size());
  int ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc() || end != digits.data() + digits.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenDevice(std::string_view name) {
  if (name.starts_with(kSimulated)) return sim::OpenSimulatedDevice(name.substr(kSimulated.size()));
  if (const std::optional<int> ordinal = CudaOrdinal(name)) return OpenCudaDevice(*ordinal);
  return UnknownDevice(name);
}

absl::StatusOr<v1::DeviceFacts> ReadDeviceFacts(std::string_view name) {
  if (name.starts_with(kSimulated)) {
    const std::optional<v1::DeviceFacts> facts = sim::FindProfile(name.substr(kSimulated.size()));
    return facts.has_value() ? absl::StatusOr<v1::DeviceFacts>(*facts) : UnknownDevice(name);
  }
  if (const std::optional<int> ordinal = CudaOrdinal(name)) return ReadCudaDeviceFacts(*ordinal);
  return UnknownDevice(name);
}

}  // namespace fsr
