#include "worker/runner/evaluate.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "common/launch_plan.h"
#include "common/status.h"

namespace fsr {
namespace {

// Compiles nothing; says what it is told to of a source.
class FakeCompiler : public Compiler {
 public:
  absl::StatusOr<CompileResult> Compile(const CompileRequest& request) override {
    requests.push_back(request);
    if (request.source.find("no compiler") != std::string::npos) return absl::UnavailableError("install the toolkit");
    CompileResult result;
    result.ok = true;
    if (request.source.find("syntax error") != std::string::npos) {
      result.ok = false;
      result.log = "candidate.cu(2): error: expected a \";\"\n";
    }
    if (request.source.find("wrong name") != std::string::npos) {
      result.ok = false;
      result.launch_error = "copy is launched, but it is no __global__ function. The kernels of the file are: other.";
    }
    result.kernel.cubin = "cubin of " + request.source;
    return result;
  }
  std::vector<CompileRequest> requests;
};

constexpr char kGood[] = "// fsr: launch copy grid=(1) block=(32)\n";

v1::EvaluationSpec Spec(const std::string& source) {
  v1::EvaluationSpec spec;
  v1::Task& task = *spec.mutable_task();
  task.set_name("copy");
  v1::Parameter& input = *task.add_parameters();
  input.set_name("x");
  input.set_type(v1::F32);
  input.set_role(v1::Parameter::INPUT);
  input.add_shape("n");
  v1::Parameter& output = *task.add_parameters();
  output = input;
  output.set_name("y");
  output.set_role(v1::Parameter::OUTPUT);
  v1::Parameter& size = *task.add_parameters();
  size.set_name("n");
  size.set_type(v1::I32);
  size.set_role(v1::Parameter::SIZE);
  (*task.mutable_measure()->mutable_sizes())["n"] = 32;
  task.set_oracle_source(kGood);
  task.set_baseline_source(kGood);
  spec.set_source(source);
  return spec;
}

struct Fixture {
  explicit Fixture(const std::string& device = "fake") {
    auto created = Evaluator::Create({.device = device, .worker_program = FSR_BIN_DIR "/fake_device_child"}, &compiler);
    status = created.status();
    if (created.ok()) evaluator = *std::move(created);
  }
  absl::StatusOr<v1::Evaluation> Evaluate(const v1::EvaluationSpec& spec) {
    auto prepared = evaluator->Prepare(spec);
    if (!prepared.ok()) return prepared.status();
    return evaluator->Run(*prepared, [&](std::string_view phase) { phases.emplace_back(phase); });
  }
  absl::StatusOr<v1::Evaluation> Evaluate(const std::string& behaviour) {
    return Evaluate(Spec(std::string(kGood) + "// behave: " + behaviour + "\n"));
  }
  FakeCompiler compiler;
  absl::Status status;
  std::unique_ptr<Evaluator> evaluator;
  std::vector<std::string> phases;
};

TEST_CASE("a right kernel is compiled, run and reported with its phases") {
  Fixture f;
  REQUIRE(f.status.ok());
  CHECK(f.evaluator->facts().kind() == "fake");
  auto evaluation = f.Evaluate("well");
  REQUIRE(evaluation.ok());
  CHECK(evaluation->outcome() == v1::MEASURED);
  CHECK(f.phases == std::vector<std::string>{"judge"});
  REQUIRE(evaluation->phases_size() == 3);
  double end = 0;
  for (const v1::PhaseTime& phase : evaluation->phases()) {
    CHECK(phase.start_s() >= end - 1e-6);
    CHECK(phase.end_s() >= phase.start_s());
    end = phase.end_s();
  }
  CHECK(evaluation->phases(0).phase() == "compile");
  CHECK(evaluation->phases(1).phase() == "queue");
  CHECK(evaluation->phases(2).phase() == "judge");
  CHECK(evaluation->source_hash().size() == 64);
  CHECK(evaluation->binary_hash().size() == 64);
  CHECK(evaluation->source_hash() != evaluation->binary_hash());
  CHECK(f.compiler.requests.at(0).architecture == "sm_90a");
  CHECK(f.compiler.requests.at(0).kernels == std::vector<std::string>{"copy"});
}

TEST_CASE("a healthy child serves one evaluation after another") {
  Fixture f;
  const std::string first = f.Evaluate("well")->diagnosis();
  CHECK(f.Evaluate("well")->diagnosis() == first);
  CHECK(f.evaluator->child_restart_count() == 0);
}

TEST_CASE("what is wrong with a candidate before it runs is its outcome") {
  Fixture f;
  auto lines = f.Evaluate(Spec("// fsr: launch copy grid=(1\n"));
  REQUIRE(lines.ok());
  CHECK(lines->outcome() == v1::LAUNCH_ERROR);
  CHECK(lines->diagnosis().find("line 1") != std::string::npos);

  auto syntax = f.Evaluate(Spec(std::string(kGood) + "// syntax error"));
  CHECK(syntax->outcome() == v1::COMPILE_ERROR);
  CHECK(syntax->diagnosis().find("expected a \";\"") != std::string::npos);
  CHECK(syntax->compile_log() == "candidate.cu(2): error: expected a \";\"\n");

  auto name = f.Evaluate(Spec(std::string(kGood) + "// wrong name"));
  CHECK(name->outcome() == v1::LAUNCH_ERROR);
  CHECK(name->diagnosis().find("The kernels of the file are: other") != std::string::npos);

  auto limit = f.Evaluate(Spec(kGood + std::string(static_cast<size_t>(kSourceBytesMax) - strlen(kGood), ' ')));
  CHECK(limit->outcome() == v1::MEASURED);
  auto large = f.Evaluate(Spec(kGood + std::string(static_cast<size_t>(kSourceBytesMax) - strlen(kGood) + 1, ' ')));
  CHECK(large->outcome() == v1::COMPILE_ERROR);
  CHECK(f.phases == std::vector<std::string>{"judge"});
}

TEST_CASE("an oracle or reference that is no good is the task's fault, not the candidate's") {
  Fixture f;
  v1::EvaluationSpec spec = Spec(kGood);
  spec.mutable_task()->set_oracle_source(std::string(kGood) + "// syntax error");
  auto oracle = f.Evaluate(spec);
  CHECK(absl::IsFailedPrecondition(oracle.status()));
  CHECK(MessageOf(oracle.status()).find("The oracle of task copy does not compile") == 0);
  CHECK(MessageOf(oracle.status()).find("expected a \";\"") != std::string::npos);

  spec = Spec(kGood);
  v1::Reference& reference = *spec.add_references();
  reference.set_against(v1::Comparison::INCUMBENT);
  reference.set_source("no launch line");
  auto incumbent = f.Evaluate(spec);
  CHECK(absl::IsFailedPrecondition(incumbent.status()));
  CHECK(MessageOf(incumbent.status()).find("The incumbent of task copy") == 0);

  CHECK(absl::IsFailedPrecondition(f.Evaluate("blame the task").status()));
  CHECK(f.Evaluate("well").ok());
}

TEST_CASE("a kernel that ends its process twice is a runtime fault that names the signal") {
  Fixture f;
  auto evaluation = f.Evaluate("die");
  REQUIRE(evaluation.ok());
  CHECK(evaluation->outcome() == v1::RUNTIME_FAULT);
  CHECK(evaluation->diagnosis().find("was killed by signal 11 (Segmentation fault)") != std::string::npos);
  CHECK(evaluation->diagnosis().find("\"judge\"") != std::string::npos);
  CHECK(f.phases == std::vector<std::string>{"judge", "judge"});
  CHECK(f.evaluator->child_restart_count() == 2);
  CHECK(f.Evaluate("well")->outcome() == v1::MEASURED);
}

TEST_CASE("a kernel that hangs is stopped at the limit of the whole evaluation") {
  Fixture f;
  v1::EvaluationSpec spec = Spec(std::string(kGood) + "// behave: hang\n");
  spec.mutable_limits()->set_total_seconds(0.3);
  const absl::Time start = absl::Now();
  auto evaluation = f.Evaluate(spec);
  REQUIRE(evaluation.ok());
  CHECK(evaluation->outcome() == v1::TIMEOUT);
  CHECK(evaluation->diagnosis().find("0.3 s") != std::string::npos);
  CHECK(absl::Now() - start < absl::Seconds(10));
  CHECK(f.Evaluate("well")->outcome() == v1::MEASURED);
}

TEST_CASE("a cancelled evaluation ends at once and its child with it") {
  Fixture f;
  auto prepared = f.evaluator->Prepare(Spec(std::string(kGood) + "// behave: hang\n"));
  REQUIRE(prepared.ok());
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(200));
    (*prepared)->Cancel();
  });
  auto evaluation = f.evaluator->Run(*prepared, [](std::string_view) {});
  canceller.join();
  CHECK(absl::IsCancelled(evaluation.status()));
  CHECK(f.Evaluate("well")->outcome() == v1::MEASURED);
}

TEST_CASE("a child whose device broke is replaced by the one that stands ready") {
  Fixture f;
  const std::string first = f.Evaluate("break")->diagnosis();
  CHECK(f.Evaluate("well")->diagnosis() != first);
  CHECK(f.evaluator->child_restart_count() == 1);
}

TEST_CASE("only failures in a row make the device unavailable") {
  Fixture f;
  for (int i = 1; i < kDeviceFaultsMax; ++i) CHECK(absl::IsInternal(f.Evaluate("fail").status()));
  CHECK(f.Evaluate("well").ok());
  for (int i = 1; i < kDeviceFaultsMax; ++i) CHECK(absl::IsInternal(f.Evaluate("fail").status()));
  auto last = f.Evaluate("die at once");
  CHECK(absl::IsUnavailable(last.status()));
  CHECK(MessageOf(last.status()).find("failed 3 times in a row") != std::string::npos);
  CHECK(f.evaluator->CheckHealth().ok());
  CHECK(f.Evaluate("well").ok());
}

TEST_CASE("no device and no compiler are said to be") {
  Fixture broken("broken");
  CHECK(absl::IsUnavailable(broken.status));
  CHECK(MessageOf(broken.status).find("there is no driver") != std::string::npos);
  Fixture f;
  CHECK(absl::IsUnavailable(f.Evaluate(Spec(std::string(kGood) + "// no compiler")).status()));
}

TEST_CASE("limits that are not given are the defaults, and none exceeds the largest") {
  Fixture f;
  auto evaluation = f.Evaluate("well");
  CHECK(evaluation->measurement().latency_us() == kRunSecondsDefault);
  CHECK(f.compiler.requests.at(0).time_limit == absl::Seconds(kCompileSecondsDefault));
  v1::EvaluationSpec spec = Spec(kGood);
  spec.mutable_limits()->set_run_seconds(2 * kLimitSecondsMax);
  spec.mutable_limits()->set_compile_seconds(7);
  evaluation = f.Evaluate(spec);
  CHECK(evaluation->measurement().latency_us() == kLimitSecondsMax);
  CHECK(f.compiler.requests.back().time_limit == absl::Seconds(7));
}

}  // namespace
}  // namespace fsr
