// Commands without --server: the processes they start, share and lose.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "common/files.h"
#include "tests/integration/stack.h"

namespace fsr {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(120);

// A task that takes milliseconds to evaluate: the skeleton with few elements.
std::string QuickTask(const std::filesystem::path& folder) {
  const std::filesystem::path task = folder / "scaled";
  REQUIRE(RunProgram({"task", "new", task.string()}, folder).exit_code == 0);
  auto yaml = ReadFile(task / "task.yaml", 1 << 20);
  REQUIRE(yaml.ok());
  const std::string large = "measure_simulated: {sizes: {n: 1048576}";
  const size_t at = yaml->find(large);
  REQUIRE(at != std::string::npos);
  yaml->replace(at, large.size(), "measure_simulated: {sizes: {n: 4096}");
  REQUIRE(WriteFileAtomically(task / "task.yaml", *yaml).ok());
  return task.string();
}

// fsr in the background, sharing the state folder below `folder` with all others.
struct Command {
  Command(const std::filesystem::path& folder, const std::string& name, const std::vector<std::string>& arguments)
      : out(folder / (name + ".out")) {
    std::vector<std::string> argv = {std::string(FSR_BIN_DIR) + "/fsr"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    auto started =
        Subprocess::Start({.argv = argv,
                           .environment = {{"FSR_STATE_DIR", (folder / "state").string()}, {"FSR_SERVER", ""}},
                           .stdout_path = out.string(),
                           .stderr_path = out.string()});
    REQUIRE(started.ok());
    process = *std::move(started);
  }
  std::string Said() const { return ReadFile(out, 64 << 20).value_or(""); }
  int ExitCode() {
    auto ended = process->Wait(kPatience);
    INFO(Said());
    REQUIRE(ended.has_value());
    return ended->signal == 0 ? ended->code : -ended->signal;
  }

  std::filesystem::path out;
  std::unique_ptr<Subprocess> process;
};

// The running child of `parent` whose program is `name`; 0 if there is none.
pid_t ChildOf(pid_t parent, const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    // PID (COMMAND) STATE PARENT …
    const std::string stat = ReadFile(entry.path() / "stat", 4096).value_or("");
    if (stat.find(fmt::format("({}) ", name)) == std::string::npos) continue;
    if (std::stoi(stat.substr(stat.rfind(')') + 4)) == parent) return std::stoi(pid);
  }
  return 0;
}

template <typename Condition>
void Await(const Condition& condition) {
  const absl::Time deadline = SystemClock()->Now() + kPatience;
  while (!condition()) {
    REQUIRE(SystemClock()->Now() < deadline);
    SystemClock()->Sleep(absl::Milliseconds(10));
  }
}

}  // namespace

TEST_CASE("commands go on when the one ends whose coordinator and worker they use") {
  const std::filesystem::path folder = NewFolder();
  const std::string task = QuickTask(folder);
  Command first(folder, "first", {"run", task, "--rounds", "1000", "--candidates", "2", "--patience", "1000"});
  Await([&] { return first.Said().find("is the best so far") != std::string::npos; });
  Command second(folder, "second", {"run", task, "--rounds", "3", "--candidates", "4", "--seed", "5", "--json"});
  Command third(folder, "third", {"run", task, "--rounds", "3", "--candidates", "4", "--seed", "6", "--json"});
  Await([&] {
    const ProgramResult jobs = RunProgram({"jobs"}, folder);
    return std::count(jobs.out.begin(), jobs.out.end(), '\n') == 3;
  });
  REQUIRE(kill(first.process->pid(), SIGKILL) == 0);
  for (Command* command : {&second, &third}) {
    CHECK(command->ExitCode() == 0);
    const auto job = nlohmann::json::parse(command->Said(), nullptr, false);
    INFO(command->Said());
    REQUIRE_FALSE(job.is_discarded());
    CHECK(job["state"] == "FINISHED");
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("many evaluations at once in one state folder all get their answer") {
  const std::filesystem::path folder = NewFolder();
  const std::string task = QuickTask(folder);
  std::vector<std::unique_ptr<Command>> commands;
  for (int i = 0; i < 8; ++i) {
    commands.push_back(std::make_unique<Command>(
        folder, fmt::format("evaluate{}", i),
        std::vector<std::string>{"evaluate", task, task + "/baseline.cu", "--seed", std::to_string(i + 1)}));
  }
  for (auto& command : commands) CHECK(command->ExitCode() == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a worker that dies is replaced by the command that waits for it") {
  const std::filesystem::path folder = NewFolder();
  const std::string task = QuickTask(folder);
  Command run(folder, "run", {"run", task, "--rounds", "6", "--candidates", "4", "--patience", "6"});
  pid_t worker = 0;
  Await([&] { return (worker = ChildOf(run.process->pid(), "fsr-worker")) != 0; });
  Await([&] { return run.Said().find("baseline") != std::string::npos; });
  REQUIRE(kill(worker, SIGKILL) == 0);
  CHECK(run.ExitCode() == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a coordinator that can never start is said at once, with its own words, said once") {
  const std::filesystem::path folder = NewFolder();
  REQUIRE(WriteFileAtomically(folder / "state/fsr.db", "this is no database, but long enough to be read as one").ok());
  const absl::Time start = SystemClock()->Now();
  for (int i = 0; i < 2; ++i) {
    const ProgramResult result = RunProgram({"jobs"}, folder);
    CHECK(result.exit_code == 2);
    const size_t at = result.err.find("not a database");
    REQUIRE(at != std::string::npos);
    CHECK(result.err.find("not a database", at + 1) == std::string::npos);
  }
  CHECK(SystemClock()->Now() - start < absl::Seconds(15));
  std::filesystem::remove_all(folder);
}

TEST_CASE("output that cannot be written is trouble, and a reader that went away is no crash") {
  const std::filesystem::path folder = NewFolder();
  const auto exit_of = [&](const std::string& shell) {
    auto child =
        Subprocess::Start({.argv = {"bash", "-o", "pipefail", "-c", std::string(FSR_BIN_DIR) + "/fsr " + shell},
                           .environment = {{"FSR_STATE_DIR", (folder / "state").string()}, {"FSR_SERVER", ""}},
                           .stderr_path = (folder / "said").string()});
    REQUIRE(child.ok());
    auto ended = (*child)->Wait(kPatience);
    REQUIRE(ended.has_value());
    return ended->code;
  };
  CHECK(exit_of("tasks > /dev/full") == 2);
  CHECK(ReadFile(folder / "said", 1 << 20).value_or("").find("cannot write the output") != std::string::npos);
  CHECK(exit_of("job nothing 2> /dev/full") == 2);
  const std::string task = QuickTask(folder);
  const ProgramResult run = RunProgram({"run", task, "--rounds", "2", "--candidates", "8"}, folder);
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("fsr evaluate " + task) != std::string::npos);  // to be typed as it stands
  std::filesystem::remove(folder / "said");
  CHECK(exit_of("dialogue scaled-1 | true") < 128);
  CHECK(ReadFile(folder / "said", 1 << 20).value_or("").empty());
  std::filesystem::remove_all(folder);
}

}  // namespace fsr
