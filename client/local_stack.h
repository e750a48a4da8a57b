// A coordinator and workers on this machine, for commands that name no server: one fsrd per state folder, started by
// the first command that needs it and ended with it. A second command uses the first one's, and takes over when that
// ends: the database is all they share.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/search_client.h"
#include "common/subprocess.h"

namespace fsr {

inline constexpr absl::Duration kLocalStartTimeout = absl::Seconds(30);

// Not safe for concurrent use. The destructor ends the processes it started.
class LocalStack {
 public:
  struct Options {
    std::filesystem::path state_folder;
  };
  // Finds or starts the coordinator. FAILED_PRECONDITION says what fsrd said if it did not come up.
  static absl::StatusOr<std::unique_ptr<LocalStack>> Open(const Options& options);
  ~LocalStack();

  SearchClient& client() { return *client_; }
  const std::string& address() const { return address_; }

  // Makes sure that a worker for `device` ("sim:h200", "cuda:0") is registered, and gives its device facts. From then
  // on the client's calls start another one whenever it is gone, whosever it was.
  absl::StatusOr<v1::DeviceFacts> EnsureWorker(const std::string& device);

  static std::filesystem::path DefaultStateFolder();  // $FSR_STATE_DIR, $XDG_STATE_HOME/fsr, ~/.local/state/fsr

 private:
  explicit LocalStack(Options options) : options_(std::move(options)) {}
  absl::Status Connect();
  absl::Status StartCoordinator();
  // After UNAVAILABLE: finds or starts the coordinator again, and workers for the devices that were asked for.
  absl::Status Restore();
  absl::Status KeepWorkers();
  // The facts of a registered worker that takes evaluations for `device`.
  std::optional<v1::DeviceFacts> FindWorker(const v1::ListWorkersResponse& known, const std::string& device) const;
  // What `program` wrote to its log since it was started, or why there is nothing.
  std::string SaidBy(const std::string& program, uintmax_t log_bytes_before) const;
  absl::Status StartWorker(const std::string& device);
  std::string LogPath(const std::string& program) const;

  const Options options_;
  std::string address_;
  std::unique_ptr<SearchClient> client_;
  std::unique_ptr<Subprocess> coordinator_;
  uintmax_t coordinator_log_start_ = 0;
  struct LocalWorker {
    std::string device, id;
    std::unique_ptr<Subprocess> process;
  };
  std::vector<LocalWorker> workers_;
  std::set<std::string> devices_;  // that EnsureWorker was asked for
};

}  // namespace fsr
