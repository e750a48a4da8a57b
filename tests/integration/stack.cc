#include "tests/integration/stack.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "common/clock.h"
#include "common/files.h"
#include "common/random.h"
#include "common/task_loader.h"

namespace fsr {
namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(60);
constexpr absl::Duration kPoll = absl::Milliseconds(20);
constexpr absl::Duration kProgramTimeout = absl::Seconds(180);

std::string Program(const std::string& name) { return std::string(FSR_BIN_DIR) + "/" + name; }

}  // namespace

std::filesystem::path NewFolder() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("fsr-test-" + RandomHex(6));
  REQUIRE(MakeFolders(folder).ok());
  return folder;
}

Stack::Stack() : folder_(NewFolder()) {}

Stack::~Stack() {
  workers_.clear();
  coordinator_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Stack::StartCoordinator() {
  const std::string listen = address_.empty() ? "127.0.0.1:0" : address_;
  const std::filesystem::path address_file = folder_ / "address";
  std::error_code ignored;
  std::filesystem::remove(address_file, ignored);
  auto started = Subprocess::Start({.argv = {Program("fsrd"), "--listen", listen, "--database", database().string(),
                                             "--address-file", address_file.string(), "--die-with-parent"},
                                    .stdout_path = "/dev/null",
                                    .stderr_path = (folder_ / "fsrd.log").string()});
  REQUIRE(started.ok());
  coordinator_ = std::move(*started);
  const absl::Time deadline = SystemClock()->Now() + kStartTimeout;
  while (SystemClock()->Now() < deadline && coordinator_->Running()) {
    if (auto address = ReadFile(address_file, 256); address.ok() && !address->empty()) {
      address_ = address->substr(0, address->find_last_not_of(" \n") + 1);
      client_ = std::make_unique<SearchClient>(address_);
      if (client_->Reach(absl::Seconds(2)).ok()) return;
    }
    SystemClock()->Sleep(kPoll);
  }
  FAIL("fsrd did not come up: " << ReadFile(folder_ / "fsrd.log", 1 << 20).value_or(""));
}

void Stack::KillCoordinator() {
  coordinator_->Kill();
  coordinator_.reset();
}

size_t Stack::StartWorker(const std::string& device) {
  workers_.push_back({fmt::format("worker-{}", workers_.size()), device, nullptr});
  Launch(workers_.back());
  return workers_.size() - 1;
}

void Stack::Launch(TestWorker& worker) {
  auto started =
      Subprocess::Start({.argv = {Program("fsr-worker"), "--server", address_, "--device", worker.device, "--id",
                                  worker.id, "--cache-dir", (folder_ / "cache").string(), "--die-with-parent"},
                         .stdout_path = "/dev/null",
                         .stderr_path = (folder_ / (worker.id + ".log")).string()});
  REQUIRE(started.ok());
  worker.process = std::move(*started);
}

void Stack::KillWorker(size_t index) {
  workers_[index].process->Kill();
  workers_[index].process.reset();
}

void Stack::RestartWorker(size_t index) { Launch(workers_[index]); }

v1::Job Stack::AwaitEnd(const std::string& name, int seconds) {
  const absl::Time deadline = SystemClock()->Now() + absl::Seconds(seconds);
  while (SystemClock()->Now() < deadline) {
    auto job = client_->GetJob(name);
    if (job.ok() && job->state() != v1::Job::QUEUED && job->state() != v1::Job::RUNNING) return *job;
    SystemClock()->Sleep(kPoll);
  }
  FAIL("the job " << name << " did not end within " << seconds << " s; "
                  << ReadFile(folder_ / "fsrd.log", 1 << 20).value_or(""));
  return {};
}

v1::Task SmallTranspose() {
  auto task = LoadTask(std::filesystem::path(FSR_SOURCE_DIR) / "tasks/transpose");
  REQUIRE(task.ok());
  (*task->mutable_measure_simulated()->mutable_sizes())["rows"] = 512;
  (*task->mutable_measure_simulated()->mutable_sizes())["cols"] = 512;
  return *task;
}

v1::CreateJobRequest TuneJob(int rounds, int candidates, uint64_t seed) {
  v1::CreateJobRequest request;
  request.set_request_id(RandomHex(8));
  *request.mutable_task() = SmallTranspose();
  request.set_device_kind("sim:h200");
  request.mutable_generator()->set_name("tune");
  request.mutable_options()->set_round_count_max(static_cast<uint32_t>(rounds));
  request.mutable_options()->set_candidates_per_round(static_cast<uint32_t>(candidates));
  request.mutable_options()->set_seed(seed);
  return request;
}

ProgramResult RunProgram(const std::vector<std::string>& arguments, const std::filesystem::path& state_folder) {
  const std::filesystem::path out = state_folder / "stdout", err = state_folder / "stderr";
  // Subprocess appends.
  std::error_code ignored;
  std::filesystem::remove(out, ignored);
  std::filesystem::remove(err, ignored);
  std::vector<std::string> argv = {Program("fsr")};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto child =
      Subprocess::Start({.argv = argv,
                         .environment = {{"FSR_STATE_DIR", (state_folder / "state").string()}, {"FSR_SERVER", ""}},
                         .stdout_path = out.string(),
                         .stderr_path = err.string()});
  REQUIRE(child.ok());
  ProgramResult result;
  auto ended = (*child)->Wait(kProgramTimeout);
  REQUIRE(ended.has_value());
  result.exit_code = ended->code;
  result.out = ReadFile(out, 64 << 20).value_or("");
  result.err = ReadFile(err, 64 << 20).value_or("");
  return result;
}

}  // namespace fsr
