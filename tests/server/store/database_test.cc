#include "server/store/database.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "common/files.h"
#include "common/status.h"
#include "tests/server/store/store_fixture.h"

namespace fsr {
namespace {

// Stores completions until one does not fit any more; how many did.
int FillWithCompletions(Store& store, JobId job, int prompt_count, absl::Status* refused) {
  const std::string text(50'000, 'x');
  for (int prompt = 1; prompt <= prompt_count; ++prompt) {
    *refused = store.StoreCompletion(job, prompt, text, "");
    if (!refused->ok()) return prompt - 1;
  }
  return prompt_count;
}

}  // namespace

TEST_CASE("a full disk is said to be full and loses nothing that was stored") {
  TemporaryFolder folder;
  FakeClock clock;
  const std::string path = folder / "fsr.db";
  constexpr int kPrompts = 200;
  JobId job = 0;
  int stored = 0;
  {
    auto opened = Store::Open(path, &clock, {.database_bytes_max = 2'000'000});
    REQUIRE(opened.ok());
    Store& store = **opened;
    job = store.FindJob(store.CreateJob(SomeRequest(), "").value().job.name()).value();
    std::vector<NewPrompt> prompts(kPrompts, NewPrompt{.system_text = "s", .user_text = "u"});
    REQUIRE(store.StartRound(job, 1, prompts).ok());
    absl::Status refused;
    stored = FillWithCompletions(store, job, kPrompts, &refused);
    REQUIRE(stored > 0);
    REQUIRE(stored < kPrompts);
    CHECK(refused.code() == absl::StatusCode::kResourceExhausted);
    CHECK_THAT(MessageOf(refused), Catch::Contains("is full: free space") && Catch::Contains(path));
    // It still answers.
    CHECK(store.LoadFacts(job).value().prompts.size() == kPrompts);
  }
  // With more space it goes on where it was.
  auto opened = Store::Open(path, &clock);
  REQUIRE(opened.ok());
  const JobFacts facts = (*opened)->LoadFacts(job).value();
  for (int i = 0; i < kPrompts; ++i) {
    CHECK(facts.prompts[static_cast<size_t>(i)].completion.has_value() == (i < stored));
  }
  CHECK((*opened)->StoreCompletion(job, stored + 1, "more", "").ok());
}

TEST_CASE("a body that fails leaves nothing behind") {
  auto database = Database::Open(":memory:", {}).value();
  bool changed = true;
  const absl::Status failed = database->Write(
      [](SQLite::Database& raw) -> absl::Status {
        raw.exec("CREATE TABLE half (x INTEGER) STRICT");
        return absl::AbortedError("changed its mind");
      },
      &changed);
  CHECK(failed.code() == absl::StatusCode::kAborted);
  CHECK_FALSE(changed);
  CHECK_FALSE(
      database->Read([](SQLite::Database& raw) -> absl::StatusOr<bool> { return raw.tableExists("half"); }).value());
}

TEST_CASE("an error of SQLite becomes a status, and the connection goes on") {
  auto database = Database::Open(":memory:", {}).value();
  bool changed = false;
  const absl::Status failed = database->Write(
      [](SQLite::Database& raw) -> absl::Status {
        raw.exec("INSERT INTO nowhere VALUES (1)");
        return absl::OkStatus();
      },
      &changed);
  CHECK(failed.code() == absl::StatusCode::kInternal);
  CHECK_THAT(MessageOf(failed), Catch::Contains("nowhere"));
  CHECK(database
            ->Read([](SQLite::Database& raw) -> absl::StatusOr<int64_t> {
              return QueryInteger(raw, "SELECT COUNT(*) FROM jobs");
            })
            .value() == 0);
}

TEST_CASE("foreign keys, write-ahead log and durable commits are on") {
  TemporaryFolder folder;
  auto database = Database::Open(folder / "fsr.db", {}).value();
  const auto pragma = [&](const char* sql) {
    return database
        ->Read([&](SQLite::Database& raw) -> absl::StatusOr<std::string> { return raw.execAndGet(sql).getString(); })
        .value();
  };
  CHECK(pragma("PRAGMA foreign_keys") == "1");
  CHECK(pragma("PRAGMA journal_mode") == "wal");
  CHECK(pragma("PRAGMA synchronous") == "2");
}

TEST_CASE("a database held by another program is UNAVAILABLE") {
  TemporaryFolder folder;
  FakeClock clock;
  const std::string path = folder / "fsr.db";
  auto store = Store::Open(path, &clock, {.busy_timeout = absl::Milliseconds(20)}).value();
  SQLite::Database other(path, SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  const absl::Status refused = store->CreateJob(SomeRequest(), "").status();
  CHECK(refused.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(MessageOf(refused), Catch::Contains("another program holds"));
  other.exec("ROLLBACK");
  CHECK(store->CreateJob(SomeRequest(), "").ok());
}

TEST_CASE("a damaged database is DATA_LOSS") {
  TemporaryFolder folder;
  FakeClock clock;
  const std::string path = folder / "fsr.db";
  {
    auto store = Store::Open(path, &clock).value();
    for (int i = 0; i < 50; ++i) REQUIRE(store->CreateJob(SomeRequest(), "").ok());
  }
  std::string bytes = ReadFile(path, 1 << 24).value();
  REQUIRE(bytes.size() > 4 * 4096);
  for (size_t i = 4096; i < bytes.size(); ++i) bytes[i] = '\x5a';  // all but the first page
  REQUIRE(WriteFileAtomically(path, bytes).ok());
  auto opened = Store::Open(path, &clock);
  const absl::Status status = opened.ok() ? (*opened)->ListJobs({}).status() : opened.status();
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK_THAT(MessageOf(status), Catch::Contains("damaged"));
}

TEST_CASE("folders above the database are made") {
  TemporaryFolder folder;
  FakeClock clock;
  CHECK(Store::Open(folder / "a" / "b" / "fsr.db", &clock).ok());
}

}  // namespace fsr
