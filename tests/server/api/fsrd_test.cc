// The program itself, as a child process.
#include <signal.h>

#include <catch2/catch.hpp>

#include "common/daemon.h"
#include "common/files.h"
#include "common/subprocess.h"
#include "tests/server/api/api_fixture.h"

namespace fsr {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

// One fsrd and where its output goes.
struct Fsrd {
  Fsrd(const TemporaryFolder& folder, const std::string& name, std::vector<std::string> arguments)
      : stdout_path(folder / (name + ".out")), stderr_path(folder / (name + ".err")) {
    arguments.insert(arguments.begin(), std::string(FSR_BIN_DIR) + "/fsrd");
    auto started = Subprocess::Start({.argv = arguments, .stdout_path = stdout_path, .stderr_path = stderr_path});
    REQUIRE(started.ok());
    process = *std::move(started);
  }
  std::string Out() const { return ReadFile(stdout_path, 1 << 20).value_or(""); }
  std::string Err() const { return ReadFile(stderr_path, 1 << 20).value_or(""); }
  std::string stdout_path, stderr_path;
  std::unique_ptr<Subprocess> process;
};

std::vector<std::string> Arguments(const TemporaryFolder& folder, const std::string& listen = "127.0.0.1:0") {
  return {"--listen",       listen,
          "--database",     folder / "fsr.db",
          "--prompts",      std::string(FSR_SOURCE_DIR) + "/prompts",
          "--address-file", folder / "address"};
}

// Waits until the address file is there: the server then answers.
std::string AwaitAddress(const TemporaryFolder& folder, Fsrd& fsrd) {
  const absl::Time deadline = SystemClock()->Now() + kPatience;
  while (SystemClock()->Now() < deadline && fsrd.process->Running()) {
    const auto address = ReadFile(folder / "address", 100);
    if (address.ok()) return address->substr(0, address->find('\n'));
    SystemClock()->Sleep(absl::Milliseconds(10));
  }
  FAIL("fsrd did not come up: " << fsrd.Err());
  return "";
}

}  // namespace

TEST_CASE("fsrd says where it listens, answers, and stops cleanly when asked to") {
  for (const int stop : {SIGTERM, SIGINT}) {
    TemporaryFolder folder;
    Fsrd fsrd(folder, "fsrd", Arguments(folder));
    const std::string address = AwaitAddress(folder, fsrd);
    CHECK(fsrd.Out() == address + "\n");
    Client client(address);
    Context context;
    v1::ListJobsResponse jobs;
    CHECK(client.search->ListJobs(&context, {}, &jobs).ok());
    fsrd.process->Signal(stop);
    const std::optional<ExitStatus> ended = fsrd.process->Wait(kPatience);
    REQUIRE(ended.has_value());
    INFO(ended->Describe() << fsrd.Err());
    CHECK(ended->ok());
    CHECK_FALSE(std::filesystem::exists(folder / "address"));
  }
}

TEST_CASE("a second fsrd on the same database ends with 3 and names the first one's process") {
  TemporaryFolder folder;
  Fsrd first(folder, "first", Arguments(folder));
  AwaitAddress(folder, first);
  Fsrd second(folder, "second", Arguments(folder));
  const std::optional<ExitStatus> ended = second.process->Wait(kPatience);
  REQUIRE(ended.has_value());
  CHECK(ended->code == kExitDatabaseInUse);
  CHECK_THAT(second.Err(), Catch::Contains("process " + std::to_string(first.process->pid())));
  CHECK(first.process->Running());
}

TEST_CASE("a port in use ends with 2 and one clear sentence") {
  TemporaryFolder folder, other;
  Fsrd first(folder, "first", Arguments(folder));
  const std::string address = AwaitAddress(folder, first);
  Fsrd second(other, "second", Arguments(other, address));
  const std::optional<ExitStatus> ended = second.process->Wait(kPatience);
  REQUIRE(ended.has_value());
  CHECK(ended->code == 2);
  const std::string said = second.Err();
  CHECK_THAT(said, Catch::StartsWith("fsrd: port ") && Catch::Contains("is in use"));
  CHECK(std::count(said.begin(), said.end(), '\n') == 1);
}

TEST_CASE("wrong usage ends with 2, and --help shows examples") {
  TemporaryFolder folder;
  Fsrd help(folder, "help", {"--help"});
  CHECK(help.process->Wait(kPatience)->ok());
  CHECK_THAT(help.Out(), Catch::Contains("Examples:") && Catch::Contains("--insecure-listen"));
  Fsrd wrong(folder, "wrong", {"--databse", "x"});
  CHECK(wrong.process->Wait(kPatience)->code == 2);
  Fsrd exposed(folder, "exposed", Arguments(folder, "0.0.0.0:0"));
  CHECK(exposed.process->Wait(kPatience)->code == 2);
  CHECK_THAT(exposed.Err(), Catch::Contains("--insecure-listen"));
}

TEST_CASE("after kill -9 fsrd starts again on the same database and the job is still there") {
  TemporaryFolder folder;
  std::string name;
  {
    Fsrd fsrd(folder, "first", Arguments(folder));
    Client client(AwaitAddress(folder, fsrd));
    Context context;
    v1::Job job;
    REQUIRE(client.search->CreateJob(&context, TransposeJob("r1"), &job).ok());
    name = job.name();
    fsrd.process->Kill();
  }
  std::filesystem::remove(folder / "address");
  Fsrd again(folder, "again", Arguments(folder));
  Client client(AwaitAddress(folder, again));
  v1::Job job;
  CHECK(client.GetJob(name, &job).ok());
}

}  // namespace fsr
