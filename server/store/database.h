// The connection to SQLite, and the one seam where its errors become absl::Status.
//
// SQLiteCpp is used, and not the C API with a wrapper of ours: its exceptions let the body of a transaction read as the
// statements it is made of, since binding, stepping and finalizing need no checks there. They never leave Read and
// Write.
#pragma once

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "fmt/format.h"
#include "google/protobuf/message_lite.h"
#include "server/store/store.h"

namespace fsr {

// Safe for concurrent use: one connection behind one mutex.
class Database {
 public:
  // Open, pragmas, migrations. See Store::Open for errors.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::filesystem::path& path,
                                                        const Store::Options& options);

  // Runs `body(SQLite::Database&)`, which answers a Status or a StatusOr, in one transaction: committed if the answer
  // is OK, otherwise undone. `changed` says whether anything was written.
  template <typename Body>
  std::invoke_result_t<Body, SQLite::Database&> Write(Body&& body, bool* changed) {
    absl::MutexLock lock(&mutex_);
    *changed = false;
    try {
      const int changes_before = connection_.getTotalChanges();
      SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
      auto result = body(connection_);
      if (!result.ok()) return result;
      transaction.commit();
      *changed = connection_.getTotalChanges() != changes_before;
      return result;
    } catch (const SQLite::Exception& error) {
      return ToStatus(error);
    }
  }

  // The same for a body that only reads.
  template <typename Body>
  std::invoke_result_t<Body, SQLite::Database&> Read(Body&& body) {
    absl::MutexLock lock(&mutex_);
    try {
      SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::DEFERRED);
      return body(connection_);
    } catch (const SQLite::Exception& error) {
      return ToStatus(error);
    }
  }

 private:
  Database(std::string path, SQLite::Database connection)
      : path_(std::move(path)), connection_(std::move(connection)) {}
  absl::Status ToStatus(const SQLite::Exception& error) const;

  const std::string path_;
  absl::Mutex mutex_;
  SQLite::Database connection_ ABSL_GUARDED_BY(mutex_);
};

// What an error of SQLite means for the people who run the database at `path`.
absl::Status SqliteStatus(const SQLite::Exception& error, const std::string& path);

// ---- Statements. All of this throws SQLite::Exception: for use inside of Read and Write only. ----

// A serialized message, bound as a BLOB.
struct Blob {
  std::string bytes;
};

inline Blob Serialized(const google::protobuf::MessageLite& message) { return Blob{message.SerializeAsString()}; }

inline void BindOne(SQLite::Statement& statement, int index, int value) { statement.bind(index, value); }
inline void BindOne(SQLite::Statement& statement, int index, int64_t value) { statement.bind(index, value); }
inline void BindOne(SQLite::Statement& statement, int index, uint32_t value) { statement.bind(index, value); }
inline void BindOne(SQLite::Statement& statement, int index, double value) { statement.bind(index, value); }
inline void BindOne(SQLite::Statement& statement, int index, const std::string& value) { statement.bind(index, value); }
inline void BindOne(SQLite::Statement& statement, int index, const char* value) { statement.bind(index, value); }
inline void BindOne(SQLite::Statement& statement, int index, const Blob& value) {
  statement.bind(index, value.bytes.data(), static_cast<int>(value.bytes.size()));
}
template <typename T>
void BindOne(SQLite::Statement& statement, int index, const std::optional<T>& value) {
  if (value.has_value()) {
    BindOne(statement, index, *value);
  } else {
    statement.bind(index);
  }
}

// A statement with its `?` filled in, in order.
template <typename... Values>
SQLite::Statement Prepare(SQLite::Database& database, const char* sql, const Values&... values) {
  SQLite::Statement statement(database, sql);
  int index = 0;
  (BindOne(statement, ++index, values), ...);
  return statement;
}

// Runs a statement that answers no rows; the number of rows it changed.
template <typename... Values>
int Execute(SQLite::Database& database, const char* sql, const Values&... values) {
  return Prepare(database, sql, values...).exec();
}

// The one integer that a query answers; 0 where it is NULL. REQUIRES: it answers a row.
template <typename... Values>
int64_t QueryInteger(SQLite::Database& database, const char* sql, const Values&... values) {
  SQLite::Statement statement = Prepare(database, sql, values...);
  statement.executeStep();
  return statement.getColumn(0).getInt64();
}

inline int ToInt(const SQLite::Column& column) { return static_cast<int>(column.getInt64()); }

// A message from a BLOB column.
template <typename Message>
absl::StatusOr<Message> ParseColumn(const SQLite::Column& column) {
  Message message;
  if (!message.ParseFromArray(column.getBlob(), column.getBytes())) {
    return absl::DataLossError(
        fmt::format("column {} holds no {}: the database is damaged", column.getName(), message.GetTypeName()));
  }
  return message;
}

}  // namespace fsr
