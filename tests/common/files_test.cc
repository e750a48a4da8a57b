#include "common/files.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "common/random.h"
#include "common/status.h"

namespace fsr {
namespace {

namespace fs = std::filesystem;

// A new folder, removed with all that is in it.
struct TemporaryFolder {
  TemporaryFolder() : path(fs::temp_directory_path() / ("fsr_files_test_" + RandomHex(8))) {
    fs::create_directories(path);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  const fs::path path;
};

}  // namespace

TEST_CASE("a file is read back as it was written, and replaced as a whole") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "made" / "on the way" / "file";
  const std::string bytes("a\0b\n\xff", 5);
  REQUIRE(WriteFileAtomically(path, bytes).ok());
  CHECK(*ReadFile(path, 5) == bytes);
  REQUIRE(WriteFileAtomically(path, "").ok());
  CHECK(ReadFile(path, 0)->empty());
  CHECK(std::distance(fs::directory_iterator(path.parent_path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a file may have as many bytes as the limit says, and not one more") {
  const TemporaryFolder folder;
  const std::string content(200'000, 'x');
  REQUIRE(WriteFileAtomically(folder.path / "file", content).ok());
  CHECK(ReadFile(folder.path / "file", content.size())->size() == content.size());
  const absl::Status status = ReadFile(folder.path / "file", content.size() - 1).status();
  CHECK(absl::IsResourceExhausted(status));
  CHECK_THAT(MessageOf(status), Catch::Contains("199999"));
}

TEST_CASE("text is read without a byte order mark, and only the first is one") {
  const TemporaryFolder folder;
  const std::string mark = "\xEF\xBB\xBF";
  for (const auto& [written, read] : std::map<std::string, std::string>{{"plain", "plain"},
                                                                        {mark + "marked", "marked"},
                                                                        {mark + mark + "x" + mark, mark + "x" + mark},
                                                                        {mark, ""}}) {
    REQUIRE(WriteFileAtomically(folder.path / "text", written).ok());
    CHECK(ReadTextFile(folder.path / "text", 100).value() == read);
    CHECK(ReadFile(folder.path / "text", 100).value() == written);
  }
}

TEST_CASE("what cannot be read says why") {
  const TemporaryFolder folder;
  CHECK(absl::IsNotFound(ReadFile(folder.path / "none", 10).status()));
  CHECK_THAT(MessageOf(ReadFile(folder.path, 10).status()), Catch::Contains("folder"));
  // A file whose size is not known beforehand.
  CHECK(ReadFile("/proc/self/status", 1 << 20)->size() > 100);
  CHECK(absl::IsResourceExhausted(ReadFile("/dev/zero", 1 << 20).status()));
}

TEST_CASE("a failed write leaves the old content and nothing beside it") {
  const TemporaryFolder folder;
  // A folder that is not empty cannot be replaced by a file: the rename fails after all else went well.
  fs::create_directories(folder.path / "target" / "inside");
  CHECK_FALSE(WriteFileAtomically(folder.path / "target", "new").ok());
  CHECK(fs::is_directory(folder.path / "target" / "inside"));
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
  REQUIRE(WriteFileAtomically(folder.path / "file", "old").ok());
  CHECK_FALSE(WriteFileAtomically(folder.path / "file" / "below a file", "new").ok());
  CHECK(*ReadFile(folder.path / "file", 10) == "old");
}

TEST_CASE("the data folder is what FSR_DATA_DIR says, if it holds what it must") {
  const TemporaryFolder folder;
  REQUIRE(::setenv("FSR_DATA_DIR", folder.path.c_str(), 1) == 0);
  const absl::Status lacking = DataFolder().status();
  CHECK(absl::IsNotFound(lacking));
  CHECK_THAT(MessageOf(lacking), Catch::Contains(folder.path.string()) && Catch::Contains("prompts/"));
  fs::create_directories(folder.path / "prompts");
  fs::create_directories(folder.path / "tasks");
  CHECK(*DataFolder() == folder.path);
  ::unsetenv("FSR_DATA_DIR");
  CHECK(fs::exists(ProgramFolder() / fs::read_symlink("/proc/self/exe").filename()));
  CHECK(fs::is_directory(*DataFolder() / "tasks"));  // of the source tree, above the build folder
}

}  // namespace fsr
