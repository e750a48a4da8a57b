// The process that owns the device and runs candidates (`fsr-worker --role=run`), seen from its parent.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/subprocess.h"
#include "fsr/v1/runner.pb.h"

namespace fsr {

// Opening a GPU takes seconds; a driver that hangs is not waited for longer than this.
inline constexpr absl::Duration kDeviceReadyMax = absl::Minutes(1);

// Not safe for concurrent use. Life: started -> ready -> (request -> phases -> result)* -> killed by the destructor.
class DeviceChild {
 public:
  // Returns at once; the child opens its device meanwhile.
  static absl::StatusOr<std::unique_ptr<DeviceChild>> Start(const std::string& worker_program,
                                                            const std::string& device);

  // Waits for the device. UNAVAILABLE with the child's own words if it cannot be opened.
  absl::Status AwaitReady();
  const v1::DeviceFacts& facts() const { return facts_; }  // REQUIRES: AwaitReady() was OK

  absl::Status Send(const v1::RunRequest& request);
  // The next message, or nullopt after `patience`. UNAVAILABLE: the child is gone.
  absl::StatusOr<std::optional<v1::RunReply>> Receive(absl::Duration patience);

  bool Running() { return process_->Running(); }
  // Kills it if it still runs, and says how it ended: "was killed by signal 11 (Segmentation fault)".
  std::string End();

 private:
  explicit DeviceChild(std::unique_ptr<Subprocess> process) : process_(std::move(process)) {}
  std::unique_ptr<Subprocess> process_;
  bool ready_ = false;
  v1::DeviceFacts facts_;
};

}  // namespace fsr
