// A coordinator that is killed at any moment has lost nothing of what it had been told is stored.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "common/status.h"
#include "tests/server/store/store_fixture.h"

namespace fsr {
namespace {

constexpr int kPromptsPerRound = 4;

// Plays a job for ever, and writes a byte to `fd` after every completion that the store has taken.
[[noreturn]] void PlayUntilKilled(const std::string& path, int fd) {
  FakeClock clock;
  auto store = Store::Open(path, &clock);
  if (!store.ok()) _exit(1);
  auto created = (*store)->CreateJob(SomeRequest("the job"), "");
  if (!created.ok()) _exit(2);
  const JobId job = (*store)->FindJob(created->job.name()).value();
  const auto begun = static_cast<int>((*store)->LoadFacts(job).value().job.round_count());
  for (int round = begun + 1;; ++round) {
    const std::vector<NewPrompt> prompts(kPromptsPerRound, NewPrompt{.system_text = "s", .user_text = "u"});
    if (!(*store)->StartRound(job, round, prompts).ok()) _exit(3);
    for (int i = 1; i <= kPromptsPerRound; ++i) {
      const int prompt = (round - 1) * kPromptsPerRound + i;
      if (!(*store)->StoreCompletion(job, prompt, std::string(2000, 'c'), "").ok()) _exit(4);
      if (write(fd, ".", 1) != 1) _exit(5);
      if (!(*store)->AddCandidate(job, {.prompt = prompt, .source = "k", .spec = SomeSpec("k")}).ok()) _exit(6);
      const std::string lease = fmt::format("lease {}", prompt);
      if (!(*store)->Lease(SimulatedDevice(), "w", "b", lease).ok()) _exit(7);
      if (!(*store)->Finish(lease, Measured(1)).ok()) _exit(8);
    }
  }
}

// Starts a player, kills it after `count` acknowledged completions, and says how many it had acknowledged in the end.
int PlayAndKill(const std::string& path, int count) {
  int fds[2];
  REQUIRE(pipe(fds) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) PlayUntilKilled(path, fds[1]);
  close(fds[1]);
  char byte = 0;
  int acknowledged = 0;
  while (acknowledged < count && read(fds[0], &byte, 1) == 1) ++acknowledged;
  kill(child, SIGKILL);
  while (read(fds[0], &byte, 1) == 1) ++acknowledged;
  close(fds[0]);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  return acknowledged;
}

}  // namespace

TEST_CASE("after kill -9 everything acknowledged is there, counted once, with events without gaps") {
  TemporaryFolder folder;
  FakeClock clock;
  const std::string path = folder / "fsr.db";
  int acknowledged = 0;
  for (const int count : {1, 2, 3, 5, 8, 13}) {
    acknowledged += PlayAndKill(path, count);
    auto store = Store::Open(path, &clock).value();
    const JobFacts facts = store->LoadFacts(1).value();
    int completions = 0;
    for (const StoredPrompt& prompt : facts.prompts) completions += prompt.completion.has_value();
    // One more than acknowledged may have been stored at each kill.
    CHECK(completions >= acknowledged);
    uint32_t finished = 0;
    for (const StoredCandidate& candidate : facts.candidates) finished += candidate.result.has_value();
    CHECK(facts.job.evaluation_count() == finished);
    const std::vector<v1::Event> events = store->EventsAfter(1, 0, 100'000).value();
    uint32_t evaluated = 0;
    for (size_t i = 0; i < events.size(); ++i) {
      REQUIRE(events[i].sequence() == i + 1);
      evaluated += events[i].has_candidate_evaluated();
    }
    CHECK(evaluated == finished);
  }
}

}  // namespace fsr
