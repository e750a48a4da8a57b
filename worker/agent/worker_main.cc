#include "worker/agent/worker_main.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "common/clock.h"
#include "common/daemon.h"
#include "common/files.h"
#include "common/random.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "fmt/format.h"
#include "worker/agent/agent.h"
#include "worker/agent/coordinator_link.h"
#include "worker/agent/device_pool.h"
#include "worker/compile/compiler.h"
#include "worker/runner/evaluate.h"

namespace fsr {
namespace {

constexpr int kExitDrained = 0;
constexpr int kExitCannotStart = 2;
constexpr int kCompileProcessesDefaultMax = 4;
constexpr int kLeasesMax = 64;
constexpr uint64_t kCacheMiBDefault = 2048;
// A drain that found no call to interrupt finds the next one.
constexpr absl::Duration kDrainRepeat = absl::Milliseconds(200);
// Then the leases are back, or expire: what still holds the process is a long compile, and children end with it.
constexpr absl::Duration kStopMax = absl::Seconds(15);  // beyond kDrainMax

constexpr char kExamples[] = R"(Examples:
  fsr-worker --server 127.0.0.1:7070 --device sim:h200        a simulated H200; needs no GPU
  fsr-worker --server coordinator:7070 --device cuda:0        the first GPU of this machine; one worker for each GPU
  fsr-worker --server coordinator:7070 --devices cuda:all     every GPU of this machine, a worker process each
  fsr-worker --server coordinator:7070 --device cuda:1 --id rack3-gpu1 --compile-processes 8

SIGTERM or Ctrl-C gives unfinished evaluations back and ends the worker.
Exit codes: 0 stopped by a signal, 2 could not start (the reason is on stderr).)";

struct CommandLine {
  std::string server, device, devices, id, role, cache_folder;
  int compile_processes = 1;
  int leases = 3;
  uint64_t cache_mib = kCacheMiBDefault;
  bool die_with_parent = false;
};

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "worker";
}

std::string DefaultCacheFolder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/fsr/compile";
  }
  const char* home = std::getenv("HOME");
  return (home != nullptr && *home != '\0' ? std::string(home) + "/.cache" : std::string("/var/tmp")) + "/fsr/compile";
}

void AddOptions(CLI::App& app, CommandLine& line) {
  line.compile_processes =
      std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 1, kCompileProcessesDefaultMax);
  line.cache_folder = DefaultCacheFolder();
  app.footer(kExamples);
  app.add_option("--server", line.server, "The coordinator's HOST:PORT")->envname("FSR_SERVER");
  CLI::Option* device = app.add_option("--device", line.device, "cuda:N, or sim:PROFILE such as sim:h200");
  app.add_option("--devices", line.devices, "Several, one worker process each: cuda:all, or cuda:0,cuda:1,sim:h200")
      ->excludes(device);
  app.add_option("--id", line.id, "A name that is unique among all workers; default: host name and device");
  app.add_option("--cache-dir", line.cache_folder, "Where compiled kernels are kept; several workers may share it")
      ->capture_default_str();
  app.add_option("--cache-mib", line.cache_mib, "The most that the cache may take, in MiB")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 24))
      ->capture_default_str();
  app.add_option("--compile-processes", line.compile_processes, "How many kernels are compiled at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--leases", line.leases, "Evaluations held at once: one is measured, the others are compiled ahead")
      ->check(CLI::Range(1, kLeasesMax))
      ->capture_default_str();
  app.add_flag("--die-with-parent", line.die_with_parent, "Stop when the process that started this one ends");
  app.add_option("--role", line.role, "")->check(CLI::IsMember({"compile", "run"}))->group("");
}

// Drains `agent` when a stop signal comes, until Run has returned. The second signal ends the process at once.
class StopWatcher {
 public:
  StopWatcher(const sigset_t& signals, Agent& agent) : signals_(signals), agent_(agent), thread_([this] { Watch(); }) {}
  ~StopWatcher() {
    done_ = true;
    thread_.join();
  }

 private:
  void Watch() {
    bool stopping = false;
    absl::Time deadline = absl::InfiniteFuture();
    const timespec wait = absl::ToTimespec(kDrainRepeat);
    while (!done_) {
      const int signal = sigtimedwait(&signals_, nullptr, &wait);
      if (signal > 0 && stopping) _exit(128 + signal);
      if (signal > 0) {
        spdlog::info("stopping: unfinished evaluations are given back");
        stopping = true;
        deadline = SystemClock()->Now() + kStopMax;
      }
      if (SystemClock()->Now() > deadline) _exit(kExitDrained);
      if (stopping) agent_.Drain();
    }
  }

  const sigset_t signals_;
  Agent& agent_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

absl::StatusOr<std::string> OwnProgram() {
  std::error_code error;
  std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) return ErrnoStatus(error.value(), "finding this program's own file");
  return program;
}

absl::Status RunPool(const CommandLine& line, const sigset_t& signals) {
  ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  ASSIGN_OR_RETURN(const std::vector<std::string> devices, DevicesOf(line.devices));
  const std::vector<std::string> arguments = {"--server",
                                              line.server,
                                              "--cache-dir",
                                              line.cache_folder,
                                              "--cache-mib",
                                              std::to_string(line.cache_mib),
                                              "--compile-processes",
                                              std::to_string(line.compile_processes),
                                              "--leases",
                                              std::to_string(line.leases)};
  return RunDevicePool(program, arguments, line.id.empty() ? HostName() : line.id, devices, signals);
}

absl::Status RunWorker(CommandLine& line, const sigset_t& signals, pid_t parent) {
  if (line.die_with_parent) RETURN_IF_ERROR(DieWithParent(parent));
  if (line.server.empty()) return absl::InvalidArgumentError("--server HOST:PORT says which coordinator to work for.");
  if (!line.devices.empty()) return RunPool(line, signals);
  if (line.device.empty()) {
    return absl::InvalidArgumentError(
        "--device says what to run on: cuda:0 for the first GPU, or sim:h200; --devices takes several.");
  }
  if (line.id.empty()) {
    line.id = HostName() + "-" + line.device;
    std::replace(line.id.begin(), line.id.end(), ':', '-');
  }
  ASSIGN_OR_RETURN(const std::string program, OwnProgram());

  std::unique_ptr<Compiler> compiler =
      NewCachingCompiler(NewProcessCompiler(program, line.compile_processes), line.cache_folder, line.cache_mib << 20);
  ASSIGN_OR_RETURN(std::unique_ptr<Evaluator> evaluator,
                   Evaluator::Create({.device = line.device, .worker_program = program}, compiler.get()));
  std::unique_ptr<CoordinatorLink> link = NewGrpcLink(line.server);
  spdlog::info("worker {} with {} ({}) for the coordinator {}", line.id, line.device, evaluator->facts().name(),
               line.server);
  Agent agent({.worker_id = line.id,
               .boot_id = RandomHex(16),
               .lease_count_max = static_cast<size_t>(line.leases),
               .jitter_seed = RandomSeed()},
              evaluator.get(), link.get(), SystemClock());
  StopWatcher watcher(signals, agent);
  return WithContext(fmt::format("the coordinator {} refuses this worker", line.server), agent.Run());
}

}  // namespace

int WorkerMain(int argc, char** argv) {
  const pid_t parent = getppid();
  CLI::App app("Evaluates kernels for a coordinator (fsrd): compiles, judges and measures them on one device.",
               "fsr-worker");
  CommandLine line;
  AddOptions(app, line);
  try {  // the library's only seam
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitCannotStart;
  }
  if (line.role == "compile") return CompileChildMain();
  if (line.role == "run") return RunnerMain(line.device);
  spdlog::set_default_logger(spdlog::stderr_color_mt("fsr-worker"));
  const sigset_t signals = BlockStopSignals();
  absl::Status status = RunWorker(line, signals, parent);
  if (status.ok()) return kExitDrained;
  std::fputs(fmt::format("fsr-worker: {}\n", MessageOf(status)).c_str(), stderr);
  return kExitCannotStart;
}

}  // namespace fsr
