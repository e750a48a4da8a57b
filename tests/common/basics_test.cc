#include <catch2/catch.hpp>
#include <cerrno>
#include <set>
#include <thread>

#include "common/clock.h"
#include "common/hash.h"
#include "common/near_miss.h"
#include "common/quote.h"
#include "common/random.h"
#include "common/status.h"
#include "common/utf8.h"

namespace fsr {

TEST_CASE("SHA-256 gives the digests of FIPS 180-2") {
  CHECK(Sha256Hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(Sha256Hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("hashed fields cannot be shifted into each other") {
  CHECK(FieldHasher().Add("ab").Add("c").Hex() != FieldHasher().Add("a").Add("bc").Hex());
  CHECK(FieldHasher().Add("").Add("a").Hex() != FieldHasher().Add("a").Add("").Hex());
  CHECK(FieldHasher().Add("a").Hex() == FieldHasher().Add("a").Hex());
}

TEST_CASE("splitmix64 gives the published sequence") {
  SplitMix64 random(1234567);
  CHECK(random() == 6457827717110365317u);
  CHECK(random() == 3203168211198807973u);
  CHECK(random() == 9817491932198370423u);
  CHECK(random() == 4593380528125082431u);
  CHECK(random() == 16408922859458223821u);
}

TEST_CASE("random identifiers have the asked length and do not repeat; derived seeds do") {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(RandomHex(16));
  CHECK(seen.size() == 100);
  CHECK(seen.begin()->size() == 32);
  CHECK(seen.begin()->find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(DeriveSeed(1, "data") == DeriveSeed(1, "data"));
  CHECK(DeriveSeed(1, "data") != DeriveSeed(2, "data"));
  CHECK(DeriveSeed(1, "data") != DeriveSeed(1, "order"));
  CHECK(DeriveSeed(1, "1x") != DeriveSeed(11, "x"));
}

TEST_CASE("the system clock wakes a waiter whose condition comes true, and gives up at the deadline") {
  absl::Mutex mutex;
  bool ready = false;
  std::thread setter([&] {
    absl::MutexLock lock(&mutex);
    ready = true;
  });
  {
    absl::MutexLock lock(&mutex);
    const absl::Time deadline = SystemClock()->Now() + absl::Seconds(30);
    CHECK(SystemClock()->AwaitWithDeadline(mutex, absl::Condition(&ready), deadline));
  }
  setter.join();
  absl::MutexLock lock(&mutex);
  ready = false;
  const absl::Time deadline = SystemClock()->Now() + absl::Milliseconds(20);
  CHECK_FALSE(SystemClock()->AwaitWithDeadline(mutex, absl::Condition(&ready), deadline));
  CHECK(SystemClock()->Now() >= deadline);
}

TEST_CASE("a fake clock moves only when told to") {
  FakeClock clock;
  const absl::Time start = clock.Now();
  CHECK(clock.Now() == start);
  clock.Sleep(absl::Seconds(5));
  clock.Advance(absl::Seconds(2));
  CHECK(clock.Now() == start + absl::Seconds(7));
  absl::Mutex mutex;
  bool ready = false;
  absl::MutexLock lock(&mutex);
  CHECK_FALSE(clock.AwaitWithDeadline(mutex, absl::Condition(&ready), absl::InfiniteFuture()));
  ready = true;
  CHECK(clock.AwaitWithDeadline(mutex, absl::Condition(&ready), start));
}

TEST_CASE("a status keeps its code when context is put before it, and OK stays OK") {
  const absl::Status status = WithContext("tasks/a", absl::NotFoundError("no task.yaml"));
  CHECK(absl::IsNotFound(status));
  CHECK(MessageOf(status) == "tasks/a: no task.yaml");
  CHECK(WithContext("tasks/a", absl::OkStatus()).ok());
  CHECK(absl::IsResourceExhausted(ErrnoStatus(ENOSPC, "cannot write x")));
  CHECK(absl::IsResourceExhausted(ErrnoStatus(EDQUOT, "cannot write x")));
  CHECK(absl::IsPermissionDenied(ErrnoStatus(EACCES, "cannot read x")));
  CHECK(absl::IsFailedPrecondition(ErrnoStatus(EADDRINUSE, "cannot listen")));
  CHECK_THAT(MessageOf(ErrnoStatus(ENOENT, "cannot read x")), Catch::StartsWith("cannot read x: "));
}

TEST_CASE("the edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(EditDistance("kitten", "sitting") == 3);
  CHECK(EditDistance("shpae", "shape") == 1);
  CHECK(EditDistance("", "abc") == 3);
  CHECK(EditDistance("Rows", "rows") == 0);
  CHECK(DidYouMean("tolerence", {"name", "tolerance", "tags"}) == "; did you mean tolerance?");
  CHECK(DidYouMean("zzz", {"name", "tolerance"}).empty());
  CHECK(DidYouMean(std::string(100'000, 'a'), {"name"}).empty());
}

TEST_CASE("quoted text is printable ASCII of bounded length") {
  CHECK(Quoted("a\n\xff") == "\"a\\x0a\\xff\"");
  CHECK(Quoted(std::string(100'000, 'a')).size() < 200);
}

TEST_CASE("UTF-8 is told from what only looks like it") {
  for (const char* good : {"", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    CHECK(IsUtf8(good));
  }
  // Lone continuation, overlong forms, a surrogate, beyond U+10FFFF, cut off.
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xff"}) {
    CHECK_FALSE(IsUtf8(bad));
  }
}

TEST_CASE("what is not UTF-8 is replaced, the rest stays") {
  CHECK(ToUtf8("caf\xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80") == "caf\xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80");
  const std::string kReplacement = "\xEF\xBF\xBD";
  CHECK(ToUtf8("a\xFFz") == "a" + kReplacement + "z");
  CHECK(ToUtf8(std::string_view("a\0z", 3)) == "a" + kReplacement + "z");
  CHECK(ToUtf8("\xC0\xAF") == kReplacement + kReplacement);                     // overlong
  CHECK(ToUtf8("\xED\xA0\x80") == kReplacement + kReplacement + kReplacement);  // a surrogate
  CHECK(ToUtf8("\xF4\x90\x80\x80").size() == 12);                               // beyond U+10FFFF
  CHECK(ToUtf8("\xE2\x86") == kReplacement + kReplacement);                     // cut off
}

}  // namespace fsr
