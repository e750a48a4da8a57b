// The one file that reads fsrd's command line (CLI11 is slow to compile).
#include "server/api/command_line.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "common/daemon.h"
#include "common/files.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "server/api/server.h"

namespace fsr {
namespace {

constexpr int kExitStopped = 0;
constexpr int kExitCannotStart = 2;  // and kExitDatabaseInUse

constexpr char kExamples[] = R"(Examples:
  fsrd --database ~/.local/state/fsr/fsr.db                  any free port of this machine; the address is printed
  fsrd --listen 127.0.0.1:7070 --database /var/lib/fsr/fsr.db
  fsrd --listen 0.0.0.0:7070 --insecure-listen --database fsr.db   a network in which everybody is trusted

Then: fsr-worker --server ADDRESS --device cuda:0, and fsr submit TASK --server ADDRESS.
Exit codes: 0 stopped by a signal, 2 could not start, 3 another fsrd holds the database (stderr says more).)";

struct CommandLine {
  Server::Options server;
  std::string database, prompts, address_file;
  bool insecure_listen = false;
  bool die_with_parent = false;
};

void AddOptions(CLI::App& app, CommandLine& line) {
  app.footer(kExamples);
  app.add_option("--listen", line.server.listen, "Address and port; port 0 takes a free one")->capture_default_str();
  app.add_option("--database", line.database, "The SQLite file that everything is kept in; made if it is not there")
      ->required();
  app.add_option("--prompts", line.prompts, "The folder of prompt templates; default: those that came with fsrd");
  app.add_option("--address-file", line.address_file, "Write the bound address here once calls are answered");
  app.add_flag("--insecure-listen", line.insecure_listen,
               "Allow an address that the network can reach although there is no TLS");
  app.add_flag("--die-with-parent", line.die_with_parent, "Stop when the process that started this one ends");
}

absl::StatusOr<std::unique_ptr<Server>> StartServer(CommandLine& line, pid_t parent) {
  if (line.die_with_parent) RETURN_IF_ERROR(DieWithParent(parent));
  line.server.database = line.database;
  line.server.prompts = line.prompts;
  if (line.prompts.empty()) {
    ASSIGN_OR_RETURN(const std::filesystem::path data, DataFolder());
    line.server.prompts = data / "prompts";
  }
  if (line.insecure_listen) line.server.exposure = Exposure::kInsecureNetwork;
  ASSIGN_OR_RETURN(std::unique_ptr<Server> server, Server::Start(line.server));
  std::puts(server->address().c_str());
  std::fflush(stdout);
  if (!line.address_file.empty()) RETURN_IF_ERROR(WriteFileAtomically(line.address_file, server->address() + "\n"));
  return server;
}

int Run(CommandLine& line, pid_t parent) {
  const sigset_t signals = BlockStopSignals();
  spdlog::set_default_logger(spdlog::stderr_logger_mt("fsrd"));
  gpr_set_log_function([](gpr_log_func_args*) {});  // its trouble reaches us as statuses
  absl::StatusOr<std::unique_ptr<Server>> server = StartServer(line, parent);
  if (!server.ok()) {
    std::fputs(fmt::format("fsrd: {}.\n", MessageOf(server.status())).c_str(), stderr);
    return absl::IsAlreadyExists(server.status()) ? kExitDatabaseInUse : kExitCannotStart;
  }
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  spdlog::info("stopping on signal {} ({})", signal_number, strsignal(signal_number));
  (*server)->Stop();
  // Before the database is given up: a successor's address is not touched.
  std::error_code ignored;
  if (!line.address_file.empty()) std::filesystem::remove(line.address_file, ignored);
  return kExitStopped;
}

}  // namespace

int FsrdMain(int argc, char** argv) {
  const pid_t parent = getppid();
  CLI::App app("fsrd keeps jobs, searches fast kernels for them, and hands evaluations to workers.", "fsrd");
  CommandLine line;
  AddOptions(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitStopped : kExitCannotStart;
  }
  return Run(line, parent);
}

}  // namespace fsr
