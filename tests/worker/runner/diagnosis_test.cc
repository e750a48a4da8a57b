#include "worker/runner/diagnosis.h"

#include <catch2/catch.hpp>

namespace fsr {
namespace {

v1::CaseResult* AddFault(v1::Evaluation& evaluation, bool held_out) {
  v1::CaseResult& result = *evaluation.add_cases();
  result.set_name("rows=37 cols=91");
  (*result.mutable_sizes())["rows"] = 37;
  result.set_held_out(held_out);
  result.set_outcome(v1::RUNTIME_FAULT);
  v1::Fault& fault = *result.mutable_fault();
  fault.set_kind("out_of_bounds_write");
  fault.set_kernel("transpose");
  fault.set_parameter("output");
  fault.set_message("transpose, line 5: block (1, 0, 0), thread (3, 2, 0) writes 4 bytes at 0x7f0010 beyond output.");
  evaluation.set_outcome(v1::RUNTIME_FAULT);
  return &result;
}

TEST_CASE("a fault is told with all that is known of it") {
  v1::Evaluation evaluation;
  AddFault(evaluation, false);
  Describe(v1::Task(), &evaluation);
  CHECK(evaluation.diagnosis().find("rows=37 cols=91") != std::string::npos);
  CHECK(evaluation.diagnosis().find("thread (3, 2, 0)") != std::string::npos);
  CHECK(evaluation.signature() == "runtime_fault:out_of_bounds_write:transpose:output");
}

TEST_CASE("of a held-out case neither sizes nor places are told") {
  v1::Evaluation evaluation;
  AddFault(evaluation, true);
  Describe(v1::Task(), &evaluation);
  CHECK(evaluation.diagnosis().find("held-out case") != std::string::npos);
  for (const char* secret : {"37", "91", "0x7f0010", "line 5", "(3, 2, 0)"}) {
    CHECK(evaluation.diagnosis().find(secret) == std::string::npos);
  }
}

TEST_CASE("the same failure has the same signature wherever it stands") {
  v1::Evaluation a, b, other;
  DescribeCompileError("candidate.cu(12): error: identifier \"foo\" is undefined\n  foo();\n  ^\n", false, &a);
  DescribeCompileError(
      "candidate.cu(98): warning #177-D: unused\ncandidate.cu(99): error: identifier \"foo\" is undefined\n", false,
      &b);
  DescribeCompileError("candidate.cu(12): error: identifier \"bar\" is undefined\n", false, &other);
  CHECK(a.signature() == b.signature());
  CHECK(a.signature() != other.signature());
  CHECK(Normalized("at 0x7FFF12ab and  1024 of 3.5e7 in f32x4, TILE2") == "at # and # of # in f32x4, tile2");
}

TEST_CASE("a compile error shows the first errors and counts the others") {
  std::string log;
  for (int i = 1; i <= 9; ++i) log += "candidate.cu(" + std::to_string(i) + "): error: expected a \";\"\n";
  v1::Evaluation evaluation;
  DescribeCompileError(log, false, &evaluation);
  CHECK(evaluation.outcome() == v1::COMPILE_ERROR);
  CHECK(evaluation.compile_log() == log);
  CHECK(evaluation.diagnosis().find("candidate.cu(5)") != std::string::npos);
  CHECK(evaluation.diagnosis().find("candidate.cu(6)") == std::string::npos);
  CHECK(evaluation.diagnosis().find("4 more errors") != std::string::npos);
}

TEST_CASE("a measured kernel is told with its time, an estimate as one") {
  v1::Evaluation evaluation;
  evaluation.set_outcome(v1::MEASURED);
  evaluation.add_cases()->set_outcome(v1::MEASURED);
  v1::Measurement& measurement = *evaluation.mutable_measurement();
  measurement.set_latency_us(123.4);
  measurement.set_estimated(true);
  measurement.set_floor_us(61.7);
  measurement.set_floor_share(0.5);
  measurement.mutable_device()->set_name("NVIDIA H200");
  v1::Comparison& comparison = *evaluation.add_comparisons();
  comparison.set_against(v1::Comparison::BASELINE);
  comparison.set_ratio(2.5);
  comparison.set_other_latency_us(308.5);
  Describe(v1::Task(), &evaluation);
  CHECK(evaluation.diagnosis() ==
        "The kernel is right on all 1 cases and takes 123.4 us by the cost model of the NVIDIA H200 (an estimate). The "
        "least time that the hardware allows is 61.7 us, 50 % of that. It is 2.5 times as fast as the baseline (308.5 "
        "us).");
  CHECK(evaluation.signature().empty());
  measurement.set_estimated(false);
  measurement.set_noise(0.004);
  Describe(v1::Task(), &evaluation);
  CHECK(evaluation.diagnosis().find("on the NVIDIA H200 (noise 0.4 %)") != std::string::npos);
}

TEST_CASE("a wrong result is told apart by what is wrong with it") {
  v1::Evaluation evaluation;
  evaluation.set_outcome(v1::MISMATCH);
  v1::CaseResult& result = *evaluation.add_cases();
  result.set_outcome(v1::MISMATCH);
  v1::Mismatch& mismatch = *result.add_mismatches();
  mismatch.set_parameter("output");
  mismatch.set_wrong_count(10);
  mismatch.set_unwritten_count(10);
  mismatch.set_pattern("only the last 1 of 65 columns");
  Describe(v1::Task(), &evaluation);
  const std::string unwritten = evaluation.signature();
  CHECK(unwritten == "mismatch:output:unwritten:only the last # of # columns");
  mismatch.set_unwritten_count(0);
  Describe(v1::Task(), &evaluation);
  CHECK(evaluation.signature() == "mismatch:output:wrong:only the last # of # columns");
}

}  // namespace
}  // namespace fsr
