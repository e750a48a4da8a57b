// Brings a database to the newest schema.
#pragma once

#include <SQLiteCpp/Database.h>

#include <span>
#include <string>

#include "absl/status/status.h"

namespace fsr {

struct Migration {
  int version = 0;  // of the schema it leads to; from 1, without gaps
  const char* file_name = nullptr;
  const char* sql = nullptr;
};

// Those of migrations/, compiled in.
std::span<const Migration> Migrations();

// What `PRAGMA application_id` says of a database of fsr: "fsrd" in ASCII.
inline constexpr int kApplicationId = 0x66737264;

// FAILED_PRECONDITION if the database belongs to another program or is newer than `migrations`. Changes nothing. May
// throw SQLite::Exception.
absl::Status CheckSchema(SQLite::Database& database, std::span<const Migration> migrations);

// Runs what is missing, each in its own transaction together with its version: a failure leaves the version before.
// May throw SQLite::Exception.
absl::Status Migrate(SQLite::Database& database, std::span<const Migration> migrations);

}  // namespace fsr
