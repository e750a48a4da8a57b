#include "server/prompts/prompts.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "server/answers/answer_blocks.h"
#include "tests/server/made_task.h"

namespace fsr {
namespace {

using Catch::Contains;

PromptTemplates Templates() {
  auto templates = LoadPromptTemplates(std::string(FSR_SOURCE_DIR) + "/prompts");
  REQUIRE(templates.ok());
  return *templates;
}

constexpr char kCode[] = "// fsr: launch transpose grid=(1) block=(32)\n__global__ void transpose() { int marked; }\n";

// One candidate with this result; it is the incumbent if it is right.
JobFacts FactsWith(v1::Evaluation result, const std::string& source = kCode) {
  JobFacts facts;
  facts.task = testing::TransposeTask();
  facts.baseline.emplace();
  facts.baseline->set_outcome(v1::MEASURED);
  facts.baseline->mutable_measurement()->set_latency_us(100);
  facts.baseline->mutable_measurement()->set_estimated(true);
  *facts.baseline->mutable_measurement()->mutable_device() = testing::SimulatedH200();
  StoredCandidate candidate;
  candidate.number = 1;
  candidate.round = 1;
  candidate.dialogue = 1;
  candidate.source = source;
  candidate.change = "tiles of shared memory";
  candidate.evaluation = 2;
  if (result.outcome() == v1::MEASURED) facts.incumbent = 1;
  candidate.result = std::move(result);
  facts.candidates.push_back(candidate);
  return facts;
}

WrittenPrompt Write(const JobFacts& facts, v1::Branch branch, const PromptTemplates& templates = Templates()) {
  auto written =
      WritePrompt(templates, facts, {branch, 1, branch == v1::TASK ? 0 : 1}, facts.baseline->measurement().device());
  INFO((written.ok() ? "" : std::string(written.status().message())));
  REQUIRE(written.ok());
  return *written;
}

v1::Evaluation Failure(v1::Outcome outcome, const std::string& diagnosis = "") {
  v1::Evaluation result;
  result.set_outcome(outcome);
  result.set_diagnosis(diagnosis);
  return result;
}

v1::CaseResult* AddCase(bool held_out, v1::Outcome outcome, v1::Evaluation* result) {
  v1::CaseResult* one = result->add_cases();
  one->set_held_out(held_out);
  one->set_outcome(outcome);
  one->set_name(held_out ? "cols=257 rows=100" : "cols=65 rows=33");
  (*one->mutable_sizes())["rows"] = held_out ? 100 : 33;
  (*one->mutable_sizes())["cols"] = held_out ? 257 : 65;
  return one;
}

TEST_CASE("every prompt says the task, the interface, the shown sizes, how to answer, the rules and the device") {
  const WrittenPrompt prompt = Write(FactsWith(Failure(v1::MISMATCH)), v1::TASK);
  CHECK_THAT(prompt.user_text, Contains("Transpose a row-major matrix"));
  CHECK_THAT(prompt.user_text, Contains("const float* input, float* output, int rows, int cols"));
  CHECK_THAT(prompt.user_text, Contains("`output`: f32[cols, rows], output"));
  CHECK_THAT(prompt.user_text, Contains("(cols=65, rows=33)"));
  CHECK_THAT(prompt.user_text, Contains("1 more that are not shown"));
  CHECK_THAT(prompt.user_text, Contains("(cols=256, rows=256)"));  // simulated devices measure this one
  CHECK_THAT(prompt.user_text, Contains("an estimated 100 us"));
  CHECK_THAT(prompt.system_text, Contains("```cuda"));
  CHECK_THAT(prompt.system_text, Contains("// fsr: launch NAME grid=(X, Y, Z)"));
  CHECK_THAT(prompt.system_text, Contains("--use_fast_math"));
  CHECK_THAT(prompt.system_text, Contains("sm_90a"));
  CHECK_THAT(prompt.system_text, Contains("132 multiprocessors"));
  CHECK_THAT(prompt.system_text, Contains("Hopper"));
  CHECK_THAT(prompt.system_text, Contains("Keep the precision"));
  CHECK_THAT(prompt.system_text, !Contains("{{") && !Contains("FIXED") && !Contains("&lt;"));
  CHECK_THAT(prompt.user_text, !Contains("{{") && !Contains("&lt;"));
}

TEST_CASE("a fixed launch and instructions that are required or forbidden stand in the rules") {
  JobFacts facts = FactsWith(Failure(v1::MISMATCH));
  facts.task.set_launch(v1::Task::FIXED);
  facts.task.add_required_instructions("wgmma.");
  facts.task.add_forbidden_instructions("atom.");
  const std::string text = Write(facts, v1::TASK).system_text;
  CHECK_THAT(text, Contains("The launch of this task is FIXED") && Contains("block=(32, 8)"));
  CHECK_THAT(text, Contains("must be executed: `wgmma.`") && Contains("is forbidden: `atom.`"));
}

TEST_CASE("a compile failure shows the code and the log, a long log without its middle") {
  v1::Evaluation result = Failure(v1::COMPILE_ERROR, "The compiler refuses it.");
  result.set_compile_log("first error <1>\n" + std::string(100'000, 'x') + "\nlast error");
  const std::string text = Write(FactsWith(result), v1::COMPILE_FAILURE).user_text;
  CHECK_THAT(text, Contains("int marked;") && Contains("The compiler refuses it."));
  CHECK_THAT(text, Contains("first error <1>") && Contains("last error") && Contains("bytes are left out"));
  CHECK(text.size() < kPromptLogBytesMax + 6000);
}

TEST_CASE("an answer without code is told how to answer, without an empty block") {
  const std::string text =
      Write(FactsWith(Failure(v1::COMPILE_ERROR, "The answer holds no fenced block."), ""), v1::COMPILE_FAILURE)
          .user_text;
  CHECK_THAT(text, Contains("no fenced block") && !Contains("```"));
}

TEST_CASE("a run failure shows the fault of a shown case and the device's limits") {
  v1::Evaluation result = Failure(v1::RUNTIME_FAULT, "It wrote out of bounds.");
  v1::Fault* fault = AddCase(false, v1::RUNTIME_FAULT, &result)->mutable_fault();
  fault->set_message("4 bytes are written behind the end");
  fault->set_source_line(2);
  fault->set_parameter("output");
  fault->set_parameter_offset_bytes(8580);
  const std::string text = Write(FactsWith(result), v1::RUN_FAILURE).user_text;
  CHECK_THAT(text, Contains("fails while it runs") && Contains("It wrote out of bounds.") && Contains("int marked;"));
  CHECK_THAT(text, Contains("Case cols=65 rows=33") && Contains("(line 2 of the file)") && Contains("byte 8580"));
  CHECK_THAT(text, Contains("1024 threads a block") && Contains("227 KiB of shared memory a block"));
  CHECK_THAT(Write(FactsWith(Failure(v1::TIMEOUT)), v1::RUN_FAILURE).user_text, Contains("does not end in time"));
  CHECK_THAT(Write(FactsWith(Failure(v1::REJECTED)), v1::REJECTED_FAILURE).user_text, Contains("breaks a rule"));
}

TEST_CASE("a mismatch shows where and how the output differs") {
  v1::Evaluation result = Failure(v1::MISMATCH);
  v1::Mismatch* mismatch = AddCase(false, v1::MISMATCH, &result)->add_mismatches();
  mismatch->set_parameter("output");
  mismatch->add_shape(65);
  mismatch->add_shape(33);
  mismatch->set_element_count(2145);
  mismatch->set_wrong_count(65);
  mismatch->set_unwritten_count(65);
  mismatch->set_pattern("only the last 1 of 33 columns");
  v1::WrongElement* worst = mismatch->mutable_worst();
  worst->add_position(64);
  worst->add_position(32);
  worst->set_expected(1.25);
  worst->set_unwritten(true);
  const std::string text = Write(FactsWith(result), v1::MISMATCH_FAILURE).user_text;
  CHECK_THAT(text, Contains("65 of 2145 elements are wrong, 65 of them never written"));
  CHECK_THAT(text, Contains("only the last 1 of 33 columns") && Contains("[64, 32] expected 1.25, never written"));
}

TEST_CASE("nothing of a held-out case reaches a prompt but that it failed") {
  for (const bool marked : {true, false}) {  // whether the report admits that the case is held out
    v1::Evaluation result = Failure(v1::MISMATCH, "SECRET: case cols=257 rows=100 differs.");
    v1::CaseResult* one = AddCase(true, v1::MISMATCH, &result);
    one->set_held_out(marked);
    one->mutable_fault()->set_message("SECRET fault");
    v1::Mismatch* mismatch = one->add_mismatches();
    mismatch->set_parameter("output");
    mismatch->set_pattern("SECRET pattern");
    mismatch->mutable_worst()->set_index(25699);
    for (const v1::Branch branch : {v1::TASK, v1::COMPILE_FAILURE, v1::RUN_FAILURE, v1::MISMATCH_FAILURE}) {
      const WrittenPrompt prompt = Write(FactsWith(result), branch);
      for (const std::string& text : {prompt.system_text, prompt.user_text}) {
        CHECK_THAT(text, !Contains("SECRET") && !Contains("257") && !Contains("rows=100") && !Contains("25699"));
      }
    }
    CHECK_THAT(Write(FactsWith(result), v1::MISMATCH_FAILURE).user_text, Contains("fails on one that is not shown"));
  }
}

TEST_CASE("a shown failure is told even where a held-out case failed, too") {
  v1::Evaluation result = Failure(v1::RUNTIME_FAULT, "SECRET diagnosis of both.");
  AddCase(true, v1::RUNTIME_FAULT, &result)->mutable_fault()->set_message("SECRET fault");
  AddCase(false, v1::RUNTIME_FAULT, &result)->mutable_fault()->set_message("an open fault");
  const std::string text = Write(FactsWith(result), v1::RUN_FAILURE).user_text;
  CHECK_THAT(text, Contains("an open fault") && !Contains("SECRET"));
}

v1::Evaluation Right(double latency_us, bool estimated) {
  v1::Evaluation result;
  result.set_outcome(v1::MEASURED);
  v1::Measurement* measurement = result.mutable_measurement();
  measurement->set_latency_us(latency_us);
  measurement->set_estimated(estimated);
  measurement->set_floor_us(10);
  measurement->set_floor_share(0.4);
  measurement->set_limited_by("memory");
  result.add_hints("Each request for global memory moves 32 sectors where 4 would do.");
  return result;
}

TEST_CASE("a performance prompt shows the incumbent, its speed, what limits it and what was tried") {
  JobFacts facts = FactsWith(Right(25, /*estimated=*/true));
  StoredCandidate other = facts.candidates[0];
  other.number = 2;
  other.parent_candidate = 1;
  other.change = "pads | the tile\nby one";
  other.result = Failure(v1::MISMATCH, "SECRET");
  facts.candidates.push_back(other);
  const std::string text = Write(facts, v1::PERFORMANCE).user_text;
  CHECK_THAT(text, Contains("int marked;") && Contains("an estimated 25 us") && Contains("speed-up of 4."));
  CHECK_THAT(text, Contains("no less than 10 us") && Contains("40 %") && Contains("limited by: memory"));
  CHECK_THAT(text, Contains("moves 32 sectors where 4 would do"));
  CHECK_THAT(text, Contains("estimates of a simulator"));
  CHECK_THAT(text, Contains("| 1 | - | tiles of shared memory | MEASURED | an estimated 25 us |"));
  CHECK_THAT(text, Contains("| 2 | 1 | pads \\| the tile by one | MISMATCH | - |") && !Contains("SECRET"));
  CHECK_THAT(Write(FactsWith(Right(25, false)), v1::PERFORMANCE).user_text, !Contains("estimates of a simulator"));
}

TEST_CASE("the table of what was tried stays short in a long job, with the fastest and the latest") {
  JobFacts facts = FactsWith(Right(25, true));
  for (int number = 2; number <= 500; ++number) {
    StoredCandidate candidate = facts.candidates[0];
    candidate.number = number;
    candidate.result = number == 77 ? Right(30, true) : Right(100 + number, true);
    facts.candidates.push_back(candidate);
  }
  const std::string text = Write(facts, v1::PERFORMANCE).user_text;
  CHECK_THAT(text, Contains("| 77 |") && Contains("| 500 |") && !Contains("| 300 |") && Contains("more are left out"));
  CHECK(text.size() < 12'000);
}

TEST_CASE("nothing in a candidate breaks out of its block or is read as a template") {
  const std::string source = "// ```\n// {{task_name}} {{>system}} {{#x}} &lt; <b>\n````\n__global__ void f() {}\n";
  for (const v1::Branch branch : {v1::COMPILE_FAILURE, v1::RUN_FAILURE, v1::MISMATCH_FAILURE}) {
    const std::string text = Write(FactsWith(Failure(v1::MISMATCH), source), branch).user_text;
    CHECK_THAT(text, Contains(source));
    // Read like an answer, the block is the whole source again.
    CHECK(SplitAnswer(text).blocks.back().text == source);
  }
  const std::string text = Write(FactsWith(Right(5, true), source), v1::PERFORMANCE).user_text;
  CHECK(SplitAnswer(text).blocks.back().text == source);
}

TEST_CASE("the largest candidate still fits into a prompt") {
  const std::string source = "__global__ void f() {}\n" + std::string(512 * 1024 - 100, ' ') + "\n";
  const std::string text = Write(FactsWith(Right(5, true), source), v1::PERFORMANCE).user_text;
  CHECK(text.size() <= kPromptBytesMax);
  CHECK_THAT(text, Contains("bytes are left out"));
}

TEST_CASE("templates can be replaced one by one; their hash tells") {
  const PromptTemplates templates = Templates();
  const auto replaced = templates.With({{"performance.mustache", "Faster than {{latency}}, {{task_name}}!"}});
  REQUIRE(replaced.ok());
  CHECK(Write(FactsWith(Right(25, false)), v1::PERFORMANCE, *replaced).user_text == "Faster than 25 us, transpose!");
  CHECK(replaced->Hash() != templates.Hash());
  CHECK(templates.With({})->Hash() == templates.Hash());
  CHECK_THAT(std::string(templates.With({{"perf.mustache", ""}}).status().message()),
             Contains("\"perf.mustache\"") && Contains("performance.mustache"));
  CHECK_THAT(std::string(templates.With({{"task.mustache", "{{#open}}"}}).status().message()),
             Contains("task.mustache is malformed"));
  CHECK(absl::IsInvalidArgument(templates.With({{"task.mustache", std::string(kTemplateBytesMax + 1, 'x')}}).status()));
}

TEST_CASE("templates that include themselves, or make too long a prompt, are errors that name them") {
  JobFacts facts = FactsWith(Right(25, false));
  const auto error = [&](const std::string& text) {
    const auto templates = Templates().With({{"task.mustache", text}});
    REQUIRE(templates.ok());
    const auto written = WritePrompt(*templates, facts, {v1::TASK, 0, 0}, testing::SimulatedH200());
    REQUIRE(absl::IsInvalidArgument(written.status()));
    return std::string(written.status().message());
  };
  CHECK_THAT(error("{{>task}}"), Contains("task.mustache") && Contains("includes itself"));
  CHECK_THAT(error("{{>task}}{{>task}}"), Contains("includes itself"));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "{{baseline_code}}{{baseline_code}}";
  CHECK_THAT(error(many), Contains("at most 524288"));
}

TEST_CASE("a folder without a template is an error that names the file") {
  const auto templates = LoadPromptTemplates("/nonexistent");
  CHECK(absl::IsNotFound(templates.status()));
  CHECK_THAT(std::string(templates.status().message()), Contains(".mustache"));
}

}  // namespace
}  // namespace fsr
