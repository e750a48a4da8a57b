#include "client/local_stack.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "common/clock.h"
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
constexpr size_t kLogTailBytes = 2000;

// The end of a program's log: what it said before it gave up.
std::string LogTail(const std::string& path) {
  auto text = ReadFile(path, 64 << 20);
  if (!text.ok()) return "";
  return text->size() > kLogTailBytes ? text->substr(text->size() - kLogTailBytes) : *text;
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
  std::string said;
  while (SystemClock()->Now() < deadline) {
    if (auto address = ReadFile(address_file, kAddressBytesMax); address.ok() && !address->empty()) {
      address_ = address->substr(0, address->find_last_not_of(" \n") + 1);
      auto client = std::make_unique<SearchClient>(address_);
      if (client->Reach(kReachTimeout).ok()) {
        client_ = std::move(client);
        return absl::OkStatus();
      }
    }
    if (coordinator_ == nullptr) {
      RETURN_IF_ERROR(StartCoordinator());
    } else if (auto ended = coordinator_->Wait(kPollInterval)) {
      // Most often: another command's coordinator holds the database, and will have written its address by now.
      said = fmt::format("fsrd {}: {}", ended->Describe(), LogTail(LogPath("fsrd")));
      coordinator_.reset();
      SystemClock()->Sleep(10 * kPollInterval);
    }
  }
  return absl::FailedPreconditionError(fmt::format("The local coordinator did not come up within {}. {}",
                                                   absl::FormatDuration(kLocalStartTimeout), said));
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
  if (!options_.prompts_folder.empty()) {
    argv.insert(argv.end(), {"--prompts", options_.prompts_folder.string()});
  }
  ASSIGN_OR_RETURN(coordinator_,
                   Subprocess::Start({.argv = argv, .stdout_path = "/dev/null", .stderr_path = LogPath("fsrd")}));
  return absl::OkStatus();
}

absl::Status LocalStack::StartWorker(const std::string& device) {
  const std::string id = fmt::format("local-{}-{}", getpid(), RandomHex(3));
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

absl::StatusOr<v1::DeviceFacts> LocalStack::EnsureWorker(const std::string& device) {
  // A worker of a simulated device is as good as any other; a GPU by number is this machine's.
  if (device.rfind("sim:", 0) == 0) {
    ASSIGN_OR_RETURN(v1::ListWorkersResponse known, client_->ListWorkers());
    for (const v1::Worker& worker : known.workers()) {
      if (worker.device().kind() == device && !worker.lost() && worker.unhealthy().empty() && !worker.draining()) {
        return worker.device();
      }
    }
  }
  RETURN_IF_ERROR(StartWorker(device));
  LocalWorker& started = workers_.back();
  const absl::Time deadline = SystemClock()->Now() + kLocalStartTimeout;
  while (SystemClock()->Now() < deadline) {
    ASSIGN_OR_RETURN(v1::ListWorkersResponse known, client_->ListWorkers());
    for (const v1::Worker& worker : known.workers()) {
      // With several devices, the worker program adds a suffix to the id.
      if (worker.id().rfind(started.id, 0) == 0) return worker.device();
    }
    if (auto ended = started.process->Wait(kPollInterval)) {
      const std::string said = LogTail(LogPath("fsr-worker"));
      workers_.pop_back();
      return absl::FailedPreconditionError(fmt::format("The worker for {} {}: {}", device, ended->Describe(), said));
    }
  }
  return absl::DeadlineExceededError(fmt::format("The worker for {} did not register within {}; its log is {}.", device,
                                                 absl::FormatDuration(kLocalStartTimeout), LogPath("fsr-worker")));
}

absl::Status LocalStack::Reopen() {
  client_.reset();
  if (coordinator_ != nullptr && !coordinator_->Running()) coordinator_.reset();
  RETURN_IF_ERROR(Connect());
  std::vector<LocalWorker> before = std::move(workers_);
  workers_.clear();
  for (LocalWorker& worker : before) {
    StopGently(worker.process);
    RETURN_IF_ERROR(EnsureWorker(worker.device).status());
  }
  return absl::OkStatus();
}

}  // namespace fsr
