#include "client/local_stack.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "common/clock.h"
#include "common/daemon.h"
#include "common/files.h"
#include "common/random.h"
#include "common/status.h"
#include "common/status_macros.h"

namespace fsr {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(20);
constexpr absl::Duration kReachTimeout = absl::Seconds(2);
constexpr absl::Duration kStopTimeout = absl::Seconds(5);
constexpr size_t kAddressBytesMax = 256;
constexpr size_t kLogBytesMax = 64 << 20;
constexpr size_t kLogTailBytes = 2000;
constexpr uintmax_t kDiskBytesMin = 64 << 10;  // with less, the coordinator can store nothing more

uintmax_t SizeOf(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

// Of the workers that this process starts.
std::string OwnIdPrefix() { return fmt::format("local-{}-", getpid()); }

// Coordinator and worker wait until there is space again, without a word to those that wait for them.
absl::Status CheckDisk(const std::filesystem::path& folder) {
  std::error_code error;
  const uintmax_t available = std::filesystem::space(folder, error).available;
  if (error || available >= kDiskBytesMin) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "The disk that holds {} is full, {} bytes are left: free some space. Nothing that was stored is lost; "
      "`fsr jobs` lists what can be gone on with by `fsr watch`.",
      folder.string(), available));
}

void StopGently(std::unique_ptr<Subprocess>& process) {
  if (process == nullptr) return;
  process->Signal(SIGTERM);
  if (!process->Wait(kStopTimeout)) process->Kill();
  process.reset();
}

}  // namespace

std::filesystem::path LocalStack::DefaultStateFolder() {
  if (const char* folder = std::getenv("FSR_STATE_DIR"); folder != nullptr && *folder != 0) return folder;
  if (const char* xdg = std::getenv("XDG_STATE_HOME"); xdg != nullptr && *xdg != 0)
    return std::filesystem::path(xdg) / "fsr";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr && *home != 0 ? home : "/tmp") / ".local/state/fsr";
}

absl::StatusOr<std::unique_ptr<LocalStack>> LocalStack::Open(const Options& options) {
  RETURN_IF_ERROR(MakeFolders(options.state_folder));
  if (access(options.state_folder.c_str(), W_OK | X_OK) != 0) {
    return ErrnoStatus(errno, fmt::format("cannot write into {}; name another folder by --state or FSR_STATE_DIR",
                                          options.state_folder.string()));
  }
  auto stack = std::unique_ptr<LocalStack>(new LocalStack(options));
  RETURN_IF_ERROR(stack->Connect());
  return stack;
}

LocalStack::~LocalStack() {
  // An open channel would hold the coordinator's shutdown up until gRPC next looks at it, seconds later.
  client_.reset();
  // Workers first: they report what they hold to a coordinator that still lives.
  for (LocalWorker& worker : workers_) worker.process->Signal(SIGTERM);
  for (LocalWorker& worker : workers_) StopGently(worker.process);
  StopGently(coordinator_);
}

std::string LocalStack::LogPath(const std::string& program) const {
  return (options_.state_folder / (program + ".log")).string();
}

absl::Status LocalStack::Connect() {
  const std::filesystem::path address_file = options_.state_folder / "fsrd.address";
  const absl::Time deadline = SystemClock()->Now() + kLocalStartTimeout;
  while (SystemClock()->Now() < deadline) {
    if (auto address = ReadFile(address_file, kAddressBytesMax); address.ok() && !address->empty()) {
      address_ = address->substr(0, address->find_last_not_of(" \n") + 1);
      if (SearchClient(address_).Reach(kReachTimeout).ok()) {
        if (client_ != nullptr) {
          client_->Connect(address_);
        } else {
          client_ = std::make_unique<SearchClient>(address_, Upkeep{.restore = [this] { return Restore(); },
                                                                    .look_after = [this] { return KeepWorkers(); }});
        }
        return absl::OkStatus();
      }
    }
    if (coordinator_ == nullptr) {
      RETURN_IF_ERROR(StartCoordinator());
    } else if (auto ended = coordinator_->Wait(kPollInterval)) {
      coordinator_.reset();
      // Another command's coordinator holds the database, and will have written its address soon.
      if (ended->signal == 0 && ended->code == kExitDatabaseInUse) {
        SystemClock()->Sleep(10 * kPollInterval);
        continue;
      }
      return absl::FailedPreconditionError(fmt::format("The local coordinator does not start: fsrd {}. {}",
                                                       ended->Describe(), SaidBy("fsrd", coordinator_log_start_)));
    }
  }
  return absl::FailedPreconditionError(fmt::format("The local coordinator did not come up within {}; its log is {}.",
                                                   absl::FormatDuration(kLocalStartTimeout), LogPath("fsrd")));
}

std::string LocalStack::SaidBy(const std::string& program, uintmax_t log_bytes_before) const {
  const auto log = ReadFile(LogPath(program), kLogBytesMax);
  std::string said = log.ok() ? log->substr(std::min<size_t>(log_bytes_before, log->size())) : "";
  if (said.size() > kLogTailBytes) said.erase(0, said.size() - kLogTailBytes);
  if (!said.empty()) return said;
  if (absl::Status disk = CheckDisk(options_.state_folder); !disk.ok()) return MessageOf(disk);
  return fmt::format("It wrote nothing to {}.", LogPath(program));
}

absl::Status LocalStack::StartCoordinator() {
  std::vector<std::string> argv = {(ProgramFolder() / "fsrd").string(),
                                   "--listen",
                                   "127.0.0.1:0",
                                   "--database",
                                   (options_.state_folder / "fsr.db").string(),
                                   "--address-file",
                                   (options_.state_folder / "fsrd.address").string(),
                                   "--die-with-parent"};
  coordinator_log_start_ = SizeOf(LogPath("fsrd"));
  ASSIGN_OR_RETURN(coordinator_,
                   Subprocess::Start({.argv = argv, .stdout_path = "/dev/null", .stderr_path = LogPath("fsrd")}));
  return absl::OkStatus();
}

absl::Status LocalStack::StartWorker(const std::string& device) {
  const std::string id = OwnIdPrefix() + RandomHex(3);
  const std::filesystem::path program = ProgramFolder() / "fsr-worker";
  if (!std::filesystem::exists(program)) {
    return absl::FailedPreconditionError(
        fmt::format("There is no worker at {}. It was not built, most likely since no CUDA Toolkit was found: install "
                    "CUDA Toolkit 13 "
                    "in /usr/local/cuda (or set FSR_CUDA_ROOT) and build again.",
                    program.string()));
  }
  ASSIGN_OR_RETURN(
      auto process,
      Subprocess::Start({.argv = {program.string(), "--server", address_, "--device", device, "--id", id, "--cache-dir",
                                  (options_.state_folder / "compile-cache").string(), "--die-with-parent"},
                         .stdout_path = "/dev/null",
                         .stderr_path = LogPath("fsr-worker")}));
  workers_.push_back({device, id, std::move(process)});
  return absl::OkStatus();
}

std::optional<v1::DeviceFacts> LocalStack::FindWorker(const v1::ListWorkersResponse& known,
                                                      const std::string& device) const {
  for (const v1::Worker& worker : known.workers()) {
    // With several devices, the worker program adds a suffix to the id.
    const bool ours = std::any_of(workers_.begin(), workers_.end(), [&](const LocalWorker& own) {
      return own.device == device && worker.id().rfind(own.id, 0) == 0;
    });
    // One that this command started and lost is known to be gone before the coordinator finds out.
    if (!ours && worker.id().rfind(OwnIdPrefix(), 0) == 0) continue;
    // Another command's worker of a simulated device is as good; a GPU by number is this machine's.
    const bool as_good = device.rfind("sim:", 0) == 0 && worker.device().kind() == device && !worker.lost() &&
                         worker.unhealthy().empty() && !worker.draining();
    if (ours || as_good) return worker.device();
  }
  return std::nullopt;
}

absl::StatusOr<v1::DeviceFacts> LocalStack::EnsureWorker(const std::string& device) {
  devices_.insert(device);
  std::erase_if(workers_, [](LocalWorker& worker) { return !worker.process->Running(); });
  ASSIGN_OR_RETURN(v1::ListWorkersResponse registered, client_->ListWorkers());
  if (auto facts = FindWorker(registered, device)) return *facts;
  const uintmax_t log_start = SizeOf(LogPath("fsr-worker"));
  RETURN_IF_ERROR(StartWorker(device));
  LocalWorker& started = workers_.back();
  const absl::Time deadline = SystemClock()->Now() + kLocalStartTimeout;
  while (SystemClock()->Now() < deadline) {
    ASSIGN_OR_RETURN(v1::ListWorkersResponse known, client_->ListWorkers());
    if (auto facts = FindWorker(known, device)) return *facts;
    if (auto ended = started.process->Wait(kPollInterval)) {
      workers_.pop_back();
      return absl::FailedPreconditionError(
          fmt::format("The worker for {} {}: {}", device, ended->Describe(), SaidBy("fsr-worker", log_start)));
    }
  }
  return absl::DeadlineExceededError(fmt::format("The worker for {} did not register within {}; its log is {}.", device,
                                                 absl::FormatDuration(kLocalStartTimeout), LogPath("fsr-worker")));
}

absl::Status LocalStack::KeepWorkers() {
  RETURN_IF_ERROR(CheckDisk(options_.state_folder));
  for (const std::string& device : devices_) RETURN_IF_ERROR(EnsureWorker(device).status());
  return absl::OkStatus();
}

absl::Status LocalStack::Restore() {
  if (coordinator_ != nullptr && !coordinator_->Running()) coordinator_.reset();
  // They know the lost coordinator's address only.
  for (LocalWorker& worker : workers_) StopGently(worker.process);
  workers_.clear();
  RETURN_IF_ERROR(Connect());
  return KeepWorkers();
}

}  // namespace fsr
