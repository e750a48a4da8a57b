#include "worker/agent/device_pool.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <sstream>

#include "common/status_macros.h"
#include "common/subprocess.h"
#include "worker/device/cuda/cuda_device.h"

namespace fsr {
namespace {

// A worker that ends by itself is started again after so long: one that cannot start must not spin.
constexpr absl::Duration kRestartPause = absl::Seconds(5);
constexpr absl::Duration kStopTimeout = absl::Seconds(30);

struct PoolMember {
  std::string device;
  std::vector<std::string> argv;
  std::unique_ptr<Subprocess> process;
};

absl::Status StartMember(PoolMember& member) {
  ASSIGN_OR_RETURN(member.process, Subprocess::Start({.argv = member.argv}));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> DevicesOf(const std::string& list) {
  std::vector<std::string> devices;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    if (part == "cuda:all") {
      ASSIGN_OR_RETURN(const int count, CountCudaDevices());
      for (int i = 0; i < count; ++i) devices.push_back(fmt::format("cuda:{}", i));
    } else if (part.empty()) {
      return absl::InvalidArgumentError(fmt::format("--devices {}: there is an empty entry.", list));
    } else {
      devices.push_back(part);
    }
  }
  if (devices.empty() || devices.size() > kPoolDevicesMax) {
    return absl::InvalidArgumentError(
        fmt::format("--devices {} names {} devices: it must be 1 to {}.", list, devices.size(), kPoolDevicesMax));
  }
  std::vector<std::string> sorted = devices;
  std::sort(sorted.begin(), sorted.end());
  if (auto twice = std::adjacent_find(sorted.begin(), sorted.end());
      twice != sorted.end() && twice->rfind("cuda:", 0) == 0) {
    return absl::InvalidArgumentError(
        fmt::format("--devices {} names {} twice: a GPU is measured by one worker at a time.", list, *twice));
  }
  return devices;
}

absl::Status RunDevicePool(const std::string& program, const std::vector<std::string>& arguments, const std::string& id,
                           const std::vector<std::string>& devices, const sigset_t& signals) {
  std::vector<PoolMember> members;
  for (size_t i = 0; i < devices.size(); ++i) {
    PoolMember member{devices[i], {program}, nullptr};
    member.argv.insert(member.argv.end(), arguments.begin(), arguments.end());
    std::string member_id = fmt::format("{}-{}", id, devices[i]);
    // The same simulated device may be asked for several times.
    if (std::count(devices.begin(), devices.end(), devices[i]) > 1) member_id += fmt::format("-{}", i);
    std::replace(member_id.begin(), member_id.end(), ':', '-');
    member.argv.insert(member.argv.end(), {"--device", devices[i], "--id", member_id, "--die-with-parent"});
    RETURN_IF_ERROR(StartMember(member));
    members.push_back(std::move(member));
  }
  const timespec pause = absl::ToTimespec(kRestartPause);
  while (sigtimedwait(&signals, nullptr, &pause) < 0) {
    for (PoolMember& member : members) {
      if (auto ended = member.process->Wait(absl::ZeroDuration())) {
        spdlog::warn("the worker for {} {}; it is started again", member.device, ended->Describe());
        RETURN_IF_ERROR(StartMember(member));
      }
    }
  }
  for (PoolMember& member : members) member.process->Signal(SIGTERM);
  for (PoolMember& member : members) member.process->Wait(kStopTimeout);
  return absl::OkStatus();
}

}  // namespace fsr
