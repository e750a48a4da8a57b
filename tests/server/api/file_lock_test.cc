#include "server/api/file_lock.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "common/status.h"
#include "tests/server/store/store_fixture.h"

namespace fsr {

TEST_CASE("a lock is held once, names its holder, and is free after it") {
  TemporaryFolder folder;
  auto lock = FileLock::Take(folder / "fsr.db.lock");
  REQUIRE(lock.ok());
  const absl::Status refused = FileLock::Take(folder / "fsr.db.lock").status();
  CHECK(refused.code() == absl::StatusCode::kAlreadyExists);
  CHECK_THAT(MessageOf(refused), Catch::EndsWith("process " + std::to_string(getpid())));
  lock->reset();
  CHECK(FileLock::Take(folder / "fsr.db.lock").ok());
}

}  // namespace fsr
