// One fsr-worker program that runs a worker process for each device.
#include <signal.h>

#include <catch2/catch.hpp>

#include "common/clock.h"
#include "tests/integration/stack.h"

namespace fsr {
namespace {

int RegisteredWorkers(Stack& stack) {
  auto workers = stack.client().ListWorkers();
  return workers.ok() ? workers->workers_size() : -1;
}

}  // namespace

TEST_CASE("a pool registers a worker for each device, does jobs with them, and ends as one") {
  Stack stack;
  stack.StartCoordinator();
  auto pool = Subprocess::Start(
      {.argv = {std::string(FSR_BIN_DIR) + "/fsr-worker", "--server", stack.address(), "--devices", "sim:h200,sim:h200",
                "--id", "pool", "--cache-dir", (stack.folder() / "cache").string()},
       .stdout_path = "/dev/null",
       .stderr_path = (stack.folder() / "pool.log").string()});
  REQUIRE(pool.ok());
  for (int i = 0; i < 500 && RegisteredWorkers(stack) < 2; ++i) SystemClock()->Sleep(absl::Milliseconds(20));
  REQUIRE(RegisteredWorkers(stack) == 2);
  auto created = stack.client().CreateJob(TuneJob(1, 4, 3));
  REQUIRE(created.ok());
  CHECK(stack.AwaitEnd(created->name()).state() == v1::Job::FINISHED);
  (*pool)->Signal(SIGTERM);
  auto ended = (*pool)->Wait(absl::Seconds(30));
  REQUIRE(ended.has_value());
  CHECK(ended->ok());
}

}  // namespace fsr
