#include "server/store/migrate.h"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "common/files.h"
#include "common/status.h"
#include "tests/server/store/store_fixture.h"

namespace fsr {
namespace {

SQLite::Database OpenRaw(const std::string& path) {
  return SQLite::Database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
}

std::string SchemaOf(SQLite::Database& database) {
  std::string schema;
  SQLite::Statement query(database, "SELECT name, COALESCE(sql, '') FROM sqlite_schema ORDER BY name");
  while (query.executeStep()) {
    schema += fmt::format("{}: {}\n", query.getColumn(0).getString(), query.getColumn(1).getString());
  }
  return schema;
}

int VersionOf(SQLite::Database& database) { return database.execAndGet("PRAGMA user_version").getInt(); }

}  // namespace

TEST_CASE("every file of migrations/ is compiled in, in order and without gaps") {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(FSR_SOURCE_DIR) / "migrations")) {
    files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() == Migrations().size());
  for (size_t i = 0; i < files.size(); ++i) {
    CHECK(Migrations()[i].version == static_cast<int>(i) + 1);
    CHECK(Migrations()[i].file_name == files[i]);
    const auto content = ReadFile(std::filesystem::path(FSR_SOURCE_DIR) / "migrations" / files[i], 1 << 20);
    REQUIRE(content.ok());
    CHECK(Migrations()[i].sql == *content);
  }
}

TEST_CASE("opening a database again changes nothing in its schema") {
  TemporaryFolder folder;
  FakeClock clock;
  const std::string path = folder / "fsr.db";
  REQUIRE(Store::Open(path, &clock).ok());
  std::string fresh;
  {
    SQLite::Database raw = OpenRaw(path);
    fresh = SchemaOf(raw);
    CHECK(VersionOf(raw) == static_cast<int>(Migrations().size()));
  }
  REQUIRE(Store::Open(path, &clock).ok());
  SQLite::Database raw = OpenRaw(path);
  CHECK(SchemaOf(raw) == fresh);
  CHECK(fresh.find("CREATE TABLE jobs") != std::string::npos);
}

TEST_CASE("a database upgraded step by step equals one made at once") {
  const Migration migrations[] = {
      {1, "0001_a.sql", "CREATE TABLE a (x INTEGER NOT NULL) STRICT; INSERT INTO a VALUES (3);"},
      {2, "0002_b.sql", "ALTER TABLE a ADD COLUMN y TEXT NOT NULL DEFAULT 'old'"}};
  SQLite::Database stepwise = OpenRaw(":memory:");
  REQUIRE(Migrate(stepwise, std::span(migrations, 1)).ok());
  REQUIRE(VersionOf(stepwise) == 1);
  REQUIRE(Migrate(stepwise, migrations).ok());
  SQLite::Database at_once = OpenRaw(":memory:");
  REQUIRE(Migrate(at_once, migrations).ok());
  CHECK(SchemaOf(stepwise) == SchemaOf(at_once));
  CHECK(VersionOf(stepwise) == 2);
  CHECK(stepwise.execAndGet("SELECT y FROM a WHERE x = 3").getString() == "old");
}

TEST_CASE("a migration that fails half-way changes nothing, and the one before it stays") {
  const Migration migrations[] = {
      {1, "0001_a.sql", "CREATE TABLE a (x INTEGER NOT NULL) STRICT"},
      {2, "0002_b.sql", "CREATE TABLE b (x INTEGER NOT NULL) STRICT; INSERT INTO missing VALUES (1);"}};
  SQLite::Database database = OpenRaw(":memory:");
  CHECK_THROWS_AS(Migrate(database, migrations), SQLite::Exception);
  CHECK(VersionOf(database) == 1);
  CHECK(database.tableExists("a"));
  CHECK_FALSE(database.tableExists("b"));
}

TEST_CASE("a migration that leaves dangling references is undone and named") {
  const Migration migrations[] = {{1, "0001_a.sql",
                                   "CREATE TABLE a (id INTEGER PRIMARY KEY) STRICT;"
                                   "CREATE TABLE b (a INTEGER NOT NULL REFERENCES a (id)) STRICT;"
                                   "INSERT INTO b VALUES (5);"}};
  SQLite::Database database = OpenRaw(":memory:");
  database.exec("PRAGMA foreign_keys = OFF");
  const absl::Status status = Migrate(database, migrations);
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK_THAT(MessageOf(status), Catch::Contains("0001_a.sql") && Catch::Contains("table b"));
  CHECK(VersionOf(database) == 0);
  CHECK_FALSE(database.tableExists("b"));
}

TEST_CASE("a database newer than the program is refused and left untouched") {
  TemporaryFolder folder;
  FakeClock clock;
  const std::string path = folder / "fsr.db";
  REQUIRE(Store::Open(path, &clock).ok());
  { OpenRaw(path).exec("PRAGMA journal_mode = DELETE; PRAGMA user_version = 999;"); }
  const std::string before = ReadFile(path, 1 << 24).value();
  const auto opened = Store::Open(path, &clock);
  REQUIRE(opened.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(opened.status()), Catch::Contains("999") && Catch::Contains(path));
  CHECK(ReadFile(path, 1 << 24).value() == before);
}

TEST_CASE("the database of another program is refused and left untouched") {
  TemporaryFolder folder;
  FakeClock clock;
  const std::string path = folder / "other.db";
  { OpenRaw(path).exec("CREATE TABLE photos (id INTEGER PRIMARY KEY)"); }
  const std::string before = ReadFile(path, 1 << 24).value();
  const auto opened = Store::Open(path, &clock);
  REQUIRE(opened.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(opened.status()), Catch::Contains("another program") && Catch::Contains(path));
  CHECK(ReadFile(path, 1 << 24).value() == before);
}

TEST_CASE("a file that is no database is refused and left untouched") {
  TemporaryFolder folder;
  FakeClock clock;
  const std::string path = folder / "notes.txt";
  const std::string content(5000, 'x');
  REQUIRE(WriteFileAtomically(path, content).ok());
  const auto opened = Store::Open(path, &clock);
  REQUIRE(opened.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(opened.status()), Catch::Contains("not a database") && Catch::Contains(path));
  CHECK(ReadFile(path, 1 << 20).value() == content);
}

}  // namespace fsr
