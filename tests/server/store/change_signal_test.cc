#include "server/store/change_signal.h"

#include <catch2/catch.hpp>
#include <thread>

namespace fsr {

TEST_CASE("whoever waits for a change is woken by it") {
  ChangeSignal signal(SystemClock());
  const uint64_t seen = signal.Version();
  std::thread other([&] { signal.Notify(); });
  CHECK(signal.AwaitChange(seen, SystemClock()->Now() + absl::Seconds(30)));
  other.join();
  CHECK(signal.Version() != seen);
}

TEST_CASE("a change between reading and waiting is not missed") {
  FakeClock clock;
  ChangeSignal signal(&clock);
  const uint64_t seen = signal.Version();
  signal.Notify();
  CHECK(signal.AwaitChange(seen, clock.Now()));
}

TEST_CASE("waiting ends at the deadline when nothing changes") {
  ChangeSignal signal(SystemClock());
  CHECK_FALSE(signal.AwaitChange(signal.Version(), SystemClock()->Now() + absl::Milliseconds(5)));
}

}  // namespace fsr
