#include "server/store/database.h"

#include <sqlite3.h>

#include <algorithm>

#include "common/files.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "server/store/migrate.h"

namespace fsr {
namespace {

// Pragmas belong to a connection and cannot be set within a transaction. With WAL and synchronous FULL a commit
// survives both kill -9 and a power cut: a model's answers cost money, and the few commits a second of a search cost
// nothing.
constexpr char kPragmas[] = R"sql(
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
)sql";

absl::Status SetUp(SQLite::Database& connection, int64_t bytes_max) {
  RETURN_IF_ERROR(CheckSchema(connection, Migrations()));
  connection.exec(kPragmas);
  if (bytes_max > 0) {
    const int64_t page_bytes = connection.execAndGet("PRAGMA page_size").getInt64();
    connection.exec(fmt::format("PRAGMA max_page_count = {}", std::max<int64_t>(1, bytes_max / page_bytes)));
  }
  // A migration may make a table anew that others refer to; it is checked as a whole at its end.
  connection.exec("PRAGMA foreign_keys = OFF");
  RETURN_IF_ERROR(Migrate(connection, Migrations()));
  connection.exec("PRAGMA foreign_keys = ON");
  return absl::OkStatus();
}

}  // namespace

absl::Status SqliteStatus(const SQLite::Exception& error, const std::string& path) {
  // The index of the WAL is a mapped file: a full disk shows there as an I/O error of its own.
  const bool index_does_not_fit = error.getExtendedErrorCode() == SQLITE_IOERR_SHMSIZE;
  switch (index_does_not_fit ? SQLITE_FULL : error.getErrorCode()) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(
          fmt::format("the disk holding {} is full: free space and try again; nothing that was stored is lost", path));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(
          fmt::format("another program holds the database {}: end it, or try again when it is done", path));
    case SQLITE_NOTADB:
      return absl::FailedPreconditionError(fmt::format("{} is not a database: name another file", path));
    case SQLITE_CORRUPT:
      return absl::DataLossError(
          fmt::format("the database {} is damaged ({}): restore a copy, or save what `sqlite3 {} .recover` finds", path,
                      error.what(), path));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::PermissionDeniedError(fmt::format("the database {} cannot be written by this user", path));
    case SQLITE_CANTOPEN:
      return absl::FailedPreconditionError(
          fmt::format("cannot open the database {}: is it a file, and may this user write it and its folder?", path));
    default:
      return absl::InternalError(
          fmt::format("the database {}: {} (SQLite error {})", path, error.what(), error.getExtendedErrorCode()));
  }
}

absl::Status Database::ToStatus(const SQLite::Exception& error) const { return SqliteStatus(error, path_); }

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::filesystem::path& path,
                                                         const Store::Options& options) {
  if (path != ":memory:" && path.has_parent_path()) RETURN_IF_ERROR(MakeFolders(path.parent_path()));
  try {
    SQLite::Database connection(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                                static_cast<int>(absl::ToInt64Milliseconds(options.busy_timeout)));
    const absl::Status prepared = SetUp(connection, options.database_bytes_max);
    if (!prepared.ok()) return WithContext(fmt::format("the database {}", path.string()), prepared);
    return std::unique_ptr<Database>(new Database(path.string(), std::move(connection)));
  } catch (const SQLite::Exception& error) {
    return SqliteStatus(error, path.string());
  }
}

}  // namespace fsr
