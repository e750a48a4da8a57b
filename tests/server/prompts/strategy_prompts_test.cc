// What a search's strategy and memory put into prompts.
#include <catch2/catch.hpp>

#include "server/prompts/prompts.h"
#include "tests/server/made_task.h"
#include "tests/server/search/made_facts.h"

namespace fsr {
namespace {

using Catch::Contains;

JobFacts Facts(const std::vector<v1::Evaluation>& results) {
  JobFacts facts = testing::FactsWithBaseline(4);
  facts.task = testing::TransposeTask();
  *facts.baseline->mutable_measurement()->mutable_device() = testing::SimulatedH200();
  testing::AddRound(&facts, 1, results);
  for (StoredCandidate& candidate : facts.candidates) {
    candidate.source = "__global__ void marked_" + std::to_string(candidate.number) + "() {}\n";
  }
  return facts;
}

std::string UserText(const JobFacts& facts, const PlannedPrompt& planned) {
  const auto templates = LoadPromptTemplates(std::string(FSR_SOURCE_DIR) + "/prompts");
  REQUIRE(templates.ok());
  const auto written = WritePrompt(*templates, facts, planned, facts.baseline->measurement().device());
  INFO((written.ok() ? "" : std::string(written.status().message())));
  REQUIRE(written.ok());
  return written->user_text;
}

v1::Lesson Lesson(const std::string& task, size_t source_bytes, bool estimated = false) {
  v1::Lesson lesson;
  lesson.set_task(task);
  lesson.set_device_kind("nvidia-h200");
  lesson.set_speedup(3.5);
  lesson.set_estimated(estimated);
  lesson.set_text("Tiles in " + task + " helped.");
  lesson.set_source("// source of " + task + "\n" + std::string(source_bytes, ' '));
  return lesson;
}

TEST_CASE("a direction stands in the performance prompt that it was planned for, and in no other") {
  JobFacts facts = Facts({testing::Measured(50)});
  facts.incumbent = 1;
  PlannedPrompt planned{v1::PERFORMANCE, 1, 1};
  CHECK_THAT(UserText(facts, planned), !Contains("direction"));
  planned.hint = "wider loads";
  CHECK_THAT(UserText(facts, planned), Contains("Yours is: wider loads."));
}

TEST_CASE("a parent that is not the incumbent is not called the fastest") {
  JobFacts facts = Facts({testing::Measured(50), testing::Measured(40)});
  facts.incumbent = 2;
  CHECK_THAT(UserText(facts, {v1::PERFORMANCE, 2, 2}), Contains("# The fastest right kernel so far: candidate 2"));
  CHECK_THAT(UserText(facts, {v1::PERFORMANCE, 1, 1}),
             Contains("# One of the fastest right kernels so far: candidate 1"));
}

TEST_CASE("a merged prompt shows every failure with its code, each with its own findings only") {
  JobFacts facts =
      Facts({testing::Failed(v1::MISMATCH), testing::Failed(v1::COMPILE_ERROR), testing::Failed(v1::RUNTIME_FAULT)});
  facts.candidates[0].result->set_diagnosis("Every second column is wrong.");
  facts.candidates[1].result->clear_diagnosis();
  facts.candidates[1].result->set_compile_log("error: expected a semicolon");
  PlannedPrompt planned{v1::MISMATCH_FAILURE, 1, 1};
  CHECK_THAT(UserText(facts, planned), !Contains("marked_2"));
  planned.other_failures = {2, 3};
  const std::string text = UserText(facts, planned);
  CHECK_THAT(text, Contains("marked_1") && Contains("marked_2") && Contains("marked_3"));
  CHECK_THAT(text, Contains("## Candidate 2 does not compile") && Contains("expected a semicolon"));
  CHECK_THAT(text, Contains("## Candidate 3 fails while it runs"));
  CHECK(text.find("Every second column") == text.rfind("Every second column"));
  CHECK(text.find("expected a semicolon") == text.rfind("expected a semicolon"));
}

TEST_CASE("other failures are shown as far as their code fits") {
  JobFacts facts = Facts({testing::Failed(v1::TIMEOUT), testing::Failed(v1::TIMEOUT), testing::Failed(v1::TIMEOUT)});
  PlannedPrompt planned{v1::RUN_FAILURE, 1, 1};
  planned.other_failures = {2, 3};
  facts.candidates[1].source.resize(kOtherFailuresBytesMax - 100, ' ');
  facts.candidates[2].source.resize(100, ' ');
  CHECK_THAT(UserText(facts, planned), Contains("## Candidate 2") && Contains("## Candidate 3"));
  facts.candidates[2].source.resize(101, ' ');
  CHECK_THAT(UserText(facts, planned), Contains("## Candidate 2") && !Contains("## Candidate 3"));
}

TEST_CASE("the first prompt tells what earlier searches found, always as such, and no other prompt does") {
  JobFacts facts = Facts({testing::Measured(50)});
  facts.incumbent = 1;
  CHECK_THAT(UserText(facts, {v1::TASK, 0, 0}), !Contains("earlier search"));
  facts.lessons = {Lesson("sigmoid", 10), Lesson("copy", 10, /*estimated=*/true)};
  const std::string text = UserText(facts, {v1::TASK, 0, 0});
  CHECK_THAT(text, Contains("A hint, not a requirement") && Contains("earlier search on task sigmoid"));
  CHECK_THAT(text, Contains("3.5 times as fast as its baseline (measured)"));
  CHECK_THAT(text, Contains("(estimated by a simulator, not measured)"));
  CHECK_THAT(text, Contains("Tiles in sigmoid helped.") && Contains("source of sigmoid") && Contains("source of copy"));
  CHECK_THAT(UserText(facts, {v1::PERFORMANCE, 1, 1}), !Contains("earlier search"));
}

TEST_CASE("lessons keep to their bytes: texts first, then the code of the most relevant") {
  JobFacts facts = Facts({});
  facts.lessons = {Lesson("sigmoid", kLessonsBytesMax), Lesson("copy", 10)};
  std::string text = UserText(facts, {v1::TASK, 0, 0});
  CHECK_THAT(text,
             Contains("Tiles in sigmoid helped.") && !Contains("source of sigmoid") && Contains("source of copy"));

  facts.lessons = {Lesson("sigmoid", 0)};
  const size_t other_bytes = facts.lessons[0].text().size() + facts.lessons[0].source().size();
  facts.lessons[0].mutable_source()->append(kLessonsBytesMax - other_bytes, ' ');
  CHECK_THAT(UserText(facts, {v1::TASK, 0, 0}), Contains("source of sigmoid"));
  facts.lessons[0].mutable_source()->append(" ");
  CHECK_THAT(UserText(facts, {v1::TASK, 0, 0}), !Contains("source of sigmoid"));
}

}  // namespace
}  // namespace fsr
