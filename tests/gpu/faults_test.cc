// Every way in which a kernel can break on a GPU: its outcome, and that the worker goes on as if nothing had been.
#include "tests/gpu/gpu_fixture.h"

namespace fsr {
namespace {

v1::Evaluation Evaluate(const KernelParts& parts) { return EvaluateOnGpu(DoubleTask(), KernelFile(parts), 1); }

const v1::Fault& LastFault(const v1::Evaluation& evaluation) {
  REQUIRE(evaluation.cases_size() > 0);
  return evaluation.cases(evaluation.cases_size() - 1).fault();
}

TEST_CASE("a kernel that does not end is a TIMEOUT, and the next one is measured") {
  const v1::Evaluation evaluation = Evaluate({.body = kHang});
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::TIMEOUT);
  CHECK(evaluation.diagnosis().find("twice") != std::string::npos);
  CheckGpuWorks();
}

TEST_CASE("a trap is a RUNTIME_FAULT, and the next kernel is measured") {
  const v1::Evaluation evaluation = Evaluate({.body = kTrap});
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::RUNTIME_FAULT);
  CheckGpuWorks();
}

TEST_CASE("an illegal address is a RUNTIME_FAULT that says so, and the next kernel is measured") {
  const v1::Evaluation evaluation = Evaluate({.body = kIllegalAddress});
  INFO(Explain(evaluation));
  REQUIRE(evaluation.outcome() == v1::RUNTIME_FAULT);
  CHECK(LastFault(evaluation).kind() == "illegal_address");
  CHECK(LastFault(evaluation).kernel() == "twice");
  CheckGpuWorks();
}

TEST_CASE("a misaligned access is a RUNTIME_FAULT that says so, and the next kernel is measured") {
  const v1::Evaluation evaluation = Evaluate({.body = kMisaligned});
  INFO(Explain(evaluation));
  REQUIRE(evaluation.outcome() == v1::RUNTIME_FAULT);
  CHECK(LastFault(evaluation).kind() == "misaligned_address");
  CheckGpuWorks();
}

TEST_CASE("a failed assertion is a RUNTIME_FAULT that says so, and the next kernel is measured") {
  const v1::Evaluation evaluation = Evaluate({.body = "assert(n < 0);"});
  INFO(Explain(evaluation));
  REQUIRE(evaluation.outcome() == v1::RUNTIME_FAULT);
  CHECK(LastFault(evaluation).kind() == "assert");
  CheckGpuWorks();
}

TEST_CASE("more shared memory than a block can have is a LAUNCH_ERROR with both figures") {
  const v1::Evaluation evaluation =
      Evaluate({.body = kTwice, .launch = "grid=(ceil_div(n, 256)) block=(256) shared=1000000"});
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::LAUNCH_ERROR);
  CHECK(evaluation.diagnosis().find("1000000") != std::string::npos);
  CheckGpuWorks();
}

TEST_CASE("static and dynamic shared memory count together") {
  const v1::Evaluation evaluation =
      Evaluate({.body = "__shared__ volatile float big[10000]; big[threadIdx.x] = 1.0f; if (i < n) output[i] = 2.0f * "
                        "input[i] * big[threadIdx.x];",
                .launch = "grid=(ceil_div(n, 256)) block=(256) shared=230000"});
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::LAUNCH_ERROR);
}

TEST_CASE("a block of more threads than there can be is a LAUNCH_ERROR") {
  const v1::Evaluation evaluation = Evaluate({.body = kTwice, .launch = "grid=(1) block=(2048)"});
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::LAUNCH_ERROR);
}

TEST_CASE("a block that needs more registers than an SM has is a LAUNCH_ERROR") {
  std::string body =
      "float x[200];\n#pragma unroll\nfor (int k = 0; k < 200; ++k) x[k] = input[(i + k * 7) % n];\n"
      "__syncthreads();\nfloat s = 0;\n#pragma unroll\nfor (int k = 0; k < 200; ++k) "
      "s = s * x[199 - k] + x[k];\nif (i < n) output[i] = s;";
  const v1::Evaluation evaluation = Evaluate({.body = body, .launch = "grid=(ceil_div(n, 1024)) block=(1024)"});
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::LAUNCH_ERROR);
  CheckGpuWorks();
}

TEST_CASE("too few arguments, or one of another size, is a LAUNCH_ERROR before anything runs") {
  for (const char* args : {"args=(input, output)", "args=(input, output, n, n)", "args=(input, n, output)"}) {
    const v1::Evaluation evaluation =
        Evaluate({.body = kTwice, .launch = std::string("grid=(ceil_div(n, 256)) block=(256) ") + args});
    INFO(args << ": " << Explain(evaluation));
    CHECK(evaluation.outcome() == v1::LAUNCH_ERROR);
  }
  CheckGpuWorks();
}

TEST_CASE("a cooperative launch of more blocks than fit at once is a LAUNCH_ERROR") {
  const v1::Evaluation evaluation = Evaluate({.body = kTwice, .launch = "grid=(1000000) block=(1024) cooperative"});
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::LAUNCH_ERROR);
  CheckGpuWorks();
}

TEST_CASE("a wrong result is a MISMATCH that counts the wrong elements") {
  const v1::Evaluation evaluation = Evaluate({.body = "if (i < n) output[i] = i == 7 ? 0.125f : 2.0f * input[i];"});
  INFO(Explain(evaluation));
  REQUIRE(evaluation.outcome() == v1::MISMATCH);
  REQUIRE(evaluation.cases(0).mismatches_size() == 1);
  CHECK(evaluation.cases(0).mismatches(0).wrong_count() == 1);
  CHECK(evaluation.cases(0).mismatches(0).worst().index() == 7);
  CHECK(evaluation.cases(0).mismatches(0).worst().got() == 0.125);
}

TEST_CASE("NaN is a MISMATCH, never right") {
  const v1::Evaluation evaluation = Evaluate({.body = "if (i < n) output[i] = __int_as_float(0x7fffffff);"});
  INFO(Explain(evaluation));
  REQUIRE(evaluation.outcome() == v1::MISMATCH);
  CHECK(evaluation.cases(0).mismatches(0).nan_count() == 1000);
}

TEST_CASE("what does not compile is a COMPILE_ERROR with the line") {
  const v1::Evaluation evaluation = Evaluate({.body = "output[i] = undeclared;"});
  CHECK(evaluation.outcome() == v1::COMPILE_ERROR);
  CHECK(evaluation.diagnosis().find("undeclared") != std::string::npos);
}

}  // namespace
}  // namespace fsr
