#include <catch2/catch.hpp>

#include "common/status.h"
#include "tests/worker/judge/fake_device.h"
#include "worker/meter/meter.h"

namespace fsr {
namespace {

v1::DeviceFacts Facts() {
  v1::DeviceFacts facts;
  facts.set_memory_bandwidth_gb_per_s(4800);
  facts.set_f32_peak_tflops(60);
  return facts;
}

v1::Case OfSize(int64_t n) {
  v1::Case which;
  (*which.mutable_sizes())["n"] = n;
  return which;
}

TEST_CASE("the floor is the larger of the time for the bytes and the time for the operations") {
  v1::Task task = DoubleTask();
  // 8 bytes * 67108864 at 4.8e12 B/s.
  CHECK(*FloorMicroseconds(task, OfSize(67108864), Facts()) == Approx(111.848));
  task.mutable_work()->set_flops("2 * n * n");
  // 2 * 4096^3 would be a matmul; here 2 * 67108864^2 / 60e12 s.
  CHECK(*FloorMicroseconds(task, OfSize(67108864), Facts()) == Approx(1.50120e8).epsilon(1e-4));
  CHECK(*FloorMicroseconds(task, OfSize(1), Facts()) == Approx(8 / 4.8e6));
}

TEST_CASE("rates that were measured count before the data sheet's, unless it is asked what is possible at all") {
  v1::DeviceFacts facts = Facts();
  facts.set_measured_copy_gb_per_s(4000);
  CHECK(*FloorMicroseconds(DoubleTask(), OfSize(1'000'000), facts) == Approx(2));
  CHECK(*FloorMicroseconds(DoubleTask(), OfSize(1'000'000), facts, FloorRates::kDataSheet) == Approx(8 / 4.8));
}

TEST_CASE("the f32 rate bounds nothing that tensor cores can do") {
  v1::Task task = DoubleTask();
  task.mutable_work()->set_flops("1000000 * n");
  task.mutable_work()->set_bytes("0");
  CHECK(*FloorMicroseconds(task, OfSize(1000), Facts()) == Approx(1e9 / 60e6));
  task.mutable_parameters(0)->set_type(v1::F16);
  CHECK(*FloorMicroseconds(task, OfSize(1000), Facts()) == 0);
}

TEST_CASE("a task or device that says nothing has no floor, and nonsense is refused") {
  v1::Task task = DoubleTask();
  CHECK(*FloorMicroseconds(task, OfSize(1000), {}) == 0);
  task.clear_work();
  CHECK(*FloorMicroseconds(task, OfSize(1000), Facts()) == 0);
  task.mutable_work()->set_bytes("8 * m");
  CHECK_THAT(MessageOf(FloorMicroseconds(task, OfSize(1), Facts()).status()), Catch::Contains("work.bytes"));
  task.mutable_work()->set_bytes("n - 5");
  CHECK_THAT(MessageOf(FloorMicroseconds(task, OfSize(1), Facts()).status()), Catch::Contains("-4"));
}

}  // namespace
}  // namespace fsr
