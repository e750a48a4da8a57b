#include "server/store/migrate.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>

#include "common/status_macros.h"

namespace fsr {
namespace {

int SchemaVersion(SQLite::Database& database) { return database.execAndGet("PRAGMA user_version").getInt(); }

absl::Status CheckForeignKeys(SQLite::Database& database, const Migration& migration) {
  SQLite::Statement broken(database, "PRAGMA foreign_key_check");
  if (!broken.executeStep()) return absl::OkStatus();
  return absl::InternalError(
      fmt::format("migration {} would leave rows of table {} that refer to nothing: it was undone", migration.file_name,
                  broken.getColumn(0).getString()));
}

absl::Status RunOne(SQLite::Database& database, const Migration& migration) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  // Read again under the write lock: another program may have been faster.
  if (SchemaVersion(database) >= migration.version) return absl::OkStatus();
  database.exec(migration.sql);
  RETURN_IF_ERROR(CheckForeignKeys(database, migration));
  database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  database.exec(fmt::format("PRAGMA user_version = {}", migration.version));
  transaction.commit();
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSchema(SQLite::Database& database, std::span<const Migration> migrations) {
  const int application_id = database.execAndGet("PRAGMA application_id").getInt();
  const int version = SchemaVersion(database);
  const bool empty = database.execAndGet("SELECT COUNT(*) FROM sqlite_schema").getInt() == 0;
  if (application_id != kApplicationId && !(application_id == 0 && version == 0 && empty)) {
    return absl::FailedPreconditionError("it is an SQLite database of another program: name another file");
  }
  const int newest = migrations.empty() ? 0 : migrations.back().version;
  if (version > newest) {
    return absl::FailedPreconditionError(fmt::format(
        "its schema is version {}, and this program knows {} at most: run a newer fsrd, or name another file", version,
        newest));
  }
  return absl::OkStatus();
}

absl::Status Migrate(SQLite::Database& database, std::span<const Migration> migrations) {
  const int version = SchemaVersion(database);
  for (const Migration& migration : migrations) {
    if (migration.version > version) RETURN_IF_ERROR(RunOne(database, migration));
  }
  return absl::OkStatus();
}

}  // namespace fsr
