#include "worker/judge/report.h"

#include <catch2/catch.hpp>

#include "tests/worker/judge/fake_device.h"

namespace fsr {
namespace {

v1::CaseResult WrongCase() {
  v1::CaseResult result;
  result.set_name("n=1000");
  result.set_outcome(v1::MISMATCH);
  v1::Mismatch& mismatch = *result.add_mismatches();
  mismatch.set_parameter("output");
  mismatch.add_shape(1000);
  mismatch.set_element_count(1000);
  mismatch.set_wrong_count(2);
  mismatch.set_unwritten_count(1);
  mismatch.set_pattern("only the last 2 of 1000 elements");
  for (const uint64_t index : {998u, 999u}) {
    v1::WrongElement& wrong = *mismatch.add_first();
    wrong.set_index(index);
    wrong.add_position(index);
    wrong.set_expected(0.1f);
    wrong.set_got(0.5);
    wrong.set_unwritten(index == 999);
  }
  *mismatch.mutable_worst() = mismatch.first(0);
  return result;
}

TEST_CASE("a mismatch is described with its figures, and values with all their digits") {
  v1::Task task = DoubleTask();
  task.mutable_tolerance()->set_relative(1e-5);
  const std::string text = DescribeFailure(task, WrongCase());
  CHECK_THAT(text, Catch::Contains("Case n=1000") && Catch::Contains("output f32[1000]") &&
                       Catch::Contains("2 of 1000 elements are wrong, 1 of them never written") &&
                       Catch::Contains("only the last 2 of 1000 elements") &&
                       Catch::Contains("output[998] is 0.5 and should be 0.100000001") &&
                       Catch::Contains("output[999] was not written") && Catch::Contains("1e-05 * |expected|"));
}

TEST_CASE("a held-out case shows neither sizes nor indices nor values") {
  v1::CaseResult result = WrongCase();
  result.set_held_out(true);
  const std::string text = DescribeFailure(DoubleTask(), result);
  CHECK_THAT(text, Catch::Contains("held-out") && !Catch::Contains("9") && !Catch::Contains("1000"));
  result.set_outcome(v1::RUNTIME_FAULT);
  result.mutable_fault()->set_kind("guard_overwritten");
  result.mutable_fault()->set_message("writes outside of output f32[1000]");
  const std::string fault = DescribeFailure(DoubleTask(), result);
  CHECK_THAT(fault, Catch::Contains("guard_overwritten") && !Catch::Contains("1000"));
}

TEST_CASE("a fault is described by its message, and a right case not at all") {
  v1::CaseResult result;
  result.set_name("n=5");
  result.set_outcome(v1::REJECTED);
  result.mutable_fault()->set_message("The kernel changes its input x at index 3.");
  CHECK(DescribeFailure(DoubleTask(), result) == "Case n=5: The kernel changes its input x at index 3.\n");
  result.set_outcome(v1::MEASURED);
  CHECK(DescribeFailure(DoubleTask(), result).empty());
}

}  // namespace
}  // namespace fsr
