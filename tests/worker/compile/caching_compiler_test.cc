#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/time/clock.h"
#include "common/hash.h"
#include "worker/compile/cache_folder.h"
#include "worker/compile/compiler.h"

namespace fsr {
namespace {

namespace fs = std::filesystem;

struct TemporaryFolder {
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "fsr_cache_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TemporaryFolder() { fs::remove_all(path); }
  fs::path path;
};

uint64_t BytesIn(const fs::path& folder) {
  uint64_t total = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) total += entry.file_size();
  }
  return total;
}

// Counts, and makes of each request something that only it could have made.
class FakeCompiler : public Compiler {
 public:
  explicit FakeCompiler(int* calls) : calls_(calls) {}
  absl::StatusOr<CompileResult> Compile(const CompileRequest& request) override {
    ++*calls_;
    CompileResult result;
    result.ok = request.source != "broken";
    result.log = "a warning";
    result.kernel.ptx = "ptx of " + request.source;
    result.kernel.cubin = std::string(100'000, 'c');
    result.kernel.log = result.log;
    result.kernel.architecture = request.architecture;
    result.kernel.lowered_names = {{"f<1>", "_Z1f"}};
    result.kernel.resources.emplace_back().set_registers_per_thread(42);
    return result;
  }

 private:
  int* const calls_;
};

CompileRequest Request(std::string source) {
  CompileRequest request;
  request.source = std::move(source);
  request.architecture = "sm_90a";
  request.kernels = {"f<1>"};
  request.options = {"-DN=1"};
  return request;
}

constexpr uint64_t kLarge = 1 << 30;

TEST_CASE("what was compiled before is answered whole, also by another process's cache") {
  TemporaryFolder folder;
  int calls = 0;
  REQUIRE(NewCachingCompiler(std::make_unique<FakeCompiler>(&calls), folder.path, kLarge)->Compile(Request("a"))->ok);
  auto other = NewCachingCompiler(std::make_unique<FakeCompiler>(&calls), folder.path, kLarge);
  auto hit = other->Compile(Request("a"));
  REQUIRE(hit.ok());
  CHECK(calls == 1);
  CHECK(hit->ok);
  CHECK(hit->kernel.cache_hit);
  CHECK(hit->log == "a warning");
  CHECK(hit->kernel.ptx == "ptx of a");
  CHECK(hit->kernel.cubin.size() == 100'000);
  CHECK(hit->kernel.lowered_names.at("f<1>") == "_Z1f");
  REQUIRE(hit->kernel.resources.size() == 1);
  CHECK(hit->kernel.resources[0].registers_per_thread() == 42);
}

TEST_CASE("whatever changes the result misses the cache") {
  TemporaryFolder folder;
  int calls = 0;
  auto compiler = NewCachingCompiler(std::make_unique<FakeCompiler>(&calls), folder.path, kLarge);
  std::vector<CompileRequest> requests(7, Request("a"));
  requests[1] = Request("b");
  requests[2].architecture = "sm_80";
  requests[3].kernels = {"f<2>"};
  requests[4].options = {"-DN=2"};
  requests[5].want_cubin = false;
  requests[6].kernels = {"f<1>", "-DN=1"};
  requests[6].options = {};
  for (const CompileRequest& request : requests) REQUIRE(compiler->Compile(request).ok());
  CHECK(calls == 7);
}

TEST_CASE("a failure is not kept") {
  TemporaryFolder folder;
  int calls = 0;
  auto compiler = NewCachingCompiler(std::make_unique<FakeCompiler>(&calls), folder.path, kLarge);
  CHECK_FALSE(compiler->Compile(Request("broken"))->ok);
  CHECK_FALSE(compiler->Compile(Request("broken"))->ok);
  CHECK(calls == 2);
}

TEST_CASE("a damaged entry is a miss and is replaced") {
  TemporaryFolder folder;
  int calls = 0;
  auto compiler = NewCachingCompiler(std::make_unique<FakeCompiler>(&calls), folder.path, kLarge);
  for (const char* damage : {"cut", "changed", "emptied"}) {
    INFO(damage);
    calls = 0;
    REQUIRE(compiler->Compile(Request("a")).ok());
    for (const auto& entry : fs::recursive_directory_iterator(folder.path)) {
      if (!entry.is_regular_file()) continue;
      if (*damage == 'e') fs::resize_file(entry.path(), 0);
      if (damage[1] == 'u') fs::resize_file(entry.path(), entry.file_size() / 2);
      if (damage[1] == 'h') {
        std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(5000);
        file.put('X');
      }
    }
    const int before = calls;
    auto again = compiler->Compile(Request("a"));
    REQUIRE(again.ok());
    CHECK_FALSE(again->kernel.cache_hit);
    CHECK(calls == before + 1);
    CHECK(compiler->Compile(Request("a"))->kernel.cache_hit);
  }
}

TEST_CASE("the cache stays within its bytes and keeps what was used last") {
  TemporaryFolder folder;
  constexpr uint64_t kBytesMax = 1 << 20;
  const std::string value(30'000, 'v');
  CacheFolder cache(folder.path, kBytesMax);
  const std::string favourite = Sha256Hex("favourite");
  cache.Put(favourite, value);
  for (int i = 0; i < 100; ++i) {
    absl::SleepFor(absl::Milliseconds(2));  // files' times tell the order
    cache.Put(Sha256Hex(std::to_string(i)), value);
    REQUIRE(cache.Get(favourite) == value);
    REQUIRE(BytesIn(folder.path) <= kBytesMax);
  }
  CHECK_FALSE(cache.Get(Sha256Hex("0")).has_value());
  CHECK(cache.Get(Sha256Hex("99")) == value);
  cache.Put(Sha256Hex("huge"), std::string(kBytesMax / 2, 'h'));
  CHECK_FALSE(cache.Get(Sha256Hex("huge")).has_value());
}

TEST_CASE("a folder that cannot be written costs only the cache") {
  int calls = 0;
  auto compiler = NewCachingCompiler(std::make_unique<FakeCompiler>(&calls), "/dev/null/no/folder", kLarge);
  CHECK(compiler->Compile(Request("a"))->ok);
  CHECK(compiler->Compile(Request("a"))->ok);
  CHECK(calls == 2);
}

TEST_CASE("a hit takes well under two milliseconds") {
  TemporaryFolder folder;
  int calls = 0;
  auto compiler = NewCachingCompiler(std::make_unique<FakeCompiler>(&calls), folder.path, kLarge);
  REQUIRE(compiler->Compile(Request("a")).ok());
  std::vector<absl::Duration> times;
  for (int i = 0; i < 101; ++i) {
    const absl::Time start = absl::Now();
    REQUIRE(compiler->Compile(Request("a"))->kernel.cache_hit);
    times.push_back(absl::Now() - start);
  }
  std::sort(times.begin(), times.end());
  INFO(absl::FormatDuration(times[50]));
  CHECK(times[50] < absl::Milliseconds(2));
}

}  // namespace
}  // namespace fsr
