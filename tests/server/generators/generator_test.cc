#include "server/generators/generator.h"

#include <catch2/catch.hpp>
#include <set>

#include "common/files.h"
#include "common/launch_plan.h"
#include "common/task_loader.h"
#include "server/answers/read_answer.h"
#include "tests/server/made_task.h"

namespace fsr {
namespace {

using Catch::Contains;

std::string ErrorOf(const std::string& name, const std::map<std::string, std::string>& options,
                    const v1::Task& task = testing::TransposeTask()) {
  v1::GeneratorSpec spec;
  spec.set_name(name);
  spec.mutable_options()->insert(options.begin(), options.end());
  const auto generator = NewGenerator(spec, task);
  REQUIRE(absl::IsInvalidArgument(generator.status()));
  return std::string(generator.status().message());
}

std::unique_ptr<Generator> Made(const std::string& name, const std::map<std::string, std::string>& options = {},
                                const v1::Task& task = testing::TransposeTask()) {
  v1::GeneratorSpec spec;
  spec.set_name(name);
  spec.mutable_options()->insert(options.begin(), options.end());
  auto generator = NewGenerator(spec, task);
  INFO((generator.ok() ? "" : std::string(generator.status().message())));
  REQUIRE(generator.ok());
  return *std::move(generator);
}

JobFacts Facts(uint64_t seed) {
  JobFacts facts;
  facts.task = testing::TransposeTask();
  facts.job.set_device_kind("sim:h200");
  facts.job.mutable_options()->set_seed(seed);
  return facts;
}

std::vector<StoredPrompt> AddPrompts(int round, int count, JobFacts* facts) {
  std::vector<StoredPrompt> prompts;
  for (int i = 0; i < count; ++i) {
    StoredPrompt prompt;
    prompt.number = static_cast<int>(facts->prompts.size()) + 1;
    prompt.round = round;
    facts->prompts.push_back(prompt);
    prompts.push_back(prompt);
  }
  return prompts;
}

// Keeps answers in the facts.
class FactsSink : public AnswerSink {
 public:
  explicit FactsSink(JobFacts* facts) : facts_(*facts) {}
  absl::Status Deliver(std::vector<Completion> completions) override {
    for (const Completion& completion : completions) {
      StoredPrompt& stored = facts_.prompts.at(static_cast<size_t>(completion.prompt) - 1);
      REQUIRE(!stored.completion);
      stored.completion = completion.text;
      stored.change = completion.change;
    }
    return absl::OkStatus();
  }
  absl::StatusOr<uint32_t> Begin(v1::ModelCall) override { return absl::InternalError("No call is to be made."); }
  absl::Status End(const v1::ModelCall&, std::vector<Completion>) override { return absl::OkStatus(); }
  bool Cancelled() const override { return false; }

 private:
  JobFacts& facts_;
};

// Asks, keeps the answers in the facts, and returns the status.
absl::Status Ask(Generator& generator, const std::vector<StoredPrompt>& prompts, JobFacts* facts) {
  const JobFacts asked = *facts;
  FactsSink sink(facts);
  return generator.Answer(asked, prompts, sink);
}

// A candidate for each answered prompt that has none, with a latency that is best for TILE 16 and ROWS 16.
void EvaluateAll(JobFacts* facts) {
  for (StoredPrompt& prompt : facts->prompts) {
    if (!prompt.completion || prompt.candidate != 0) continue;
    StoredCandidate candidate;
    candidate.number = prompt.candidate = static_cast<int>(facts->candidates.size()) + 1;
    candidate.round = prompt.round;
    candidate.prompt = prompt.number;
    candidate.source = std::get<std::string>(ReadAnswer(*prompt.completion, {facts->task, ""}));
    const auto plan = ParseLaunchPlan(candidate.source, facts->task);
    REQUIRE(plan.ok());
    candidate.result.emplace();
    candidate.result->set_outcome(v1::MEASURED);
    const auto tile = static_cast<double>(plan->tunables[0].values[0]);
    const auto rows = static_cast<double>(plan->tunables[1].values[0]);
    candidate.result->mutable_measurement()->set_latency_us(2 + std::abs(tile - 16) + std::abs(rows - 16));
    facts->candidates.push_back(candidate);
  }
}

TEST_CASE("an unknown generator or option is refused with the known ones") {
  CHECK_THAT(ErrorOf("gpt", {}), Contains("\"gpt\"") && Contains("replay, tune"));
  CHECK_THAT(ErrorOf("", {}), Contains("replay, tune"));
  CHECK_THAT(ErrorOf("tune", {{"seed", "1"}}), Contains("no option \"seed\"") && Contains("none"));
  CHECK_THAT(ErrorOf("replay", {{"recordin", ""}}), Contains("its options: recording"));
}

TEST_CASE("tune needs a tunable kernel and says how to make one") {
  v1::Task task = testing::TransposeTask();
  task.clear_tunable_source();
  CHECK_THAT(ErrorOf("tune", {}, task), Contains("tunable.cu") && Contains("// fsr: tune TILE"));
  task.set_tunable_source(task.baseline_source());
  CHECK_THAT(ErrorOf("tune", {}, task), Contains("nothing to search"));
  task.set_tunable_source("// fsr: tune = 3\n");
  CHECK_THAT(ErrorOf("tune", {}, task), Contains("tunable.cu"));
}

TEST_CASE("tune goes through the whole space once, the default first, and then has nothing more") {
  JobFacts facts = Facts(1);
  const auto tune = Made("tune");
  absl::Status status;
  for (int round = 1; status.ok(); ++round) {
    REQUIRE(round < 10);
    status = Ask(*tune, AddPrompts(round, 4, &facts), &facts);
    EvaluateAll(&facts);
  }
  CHECK(absl::IsOutOfRange(status));
  CHECK_THAT(std::string(status.message()), Contains("15 of 16"));
  REQUIRE(facts.candidates.size() == 15);  // 4 x 4 but for TILE 64 with ROWS 32: 2048 threads
  std::set<std::string> sources;
  for (const StoredCandidate& candidate : facts.candidates) sources.insert(candidate.source);
  CHECK(sources.size() == 15);
  CHECK_THAT(facts.candidates[0].source, Contains("tune TILE = 32\n") && Contains("tune ROWS = 8\n"));
  CHECK(facts.prompts[0].change == "The default configuration.");
  CHECK_THAT(facts.prompts[14].change, Contains(" -> ") && Contains("best so far 2 us"));
}

TEST_CASE("a round that is asked again after a crash is the same round, whatever finished meanwhile") {
  JobFacts facts = Facts(5);
  const auto prompts = AddPrompts(1, 4, &facts);
  JobFacts whole = facts;
  REQUIRE(Ask(*Made("tune"), prompts, &whole).ok());

  // Two answers are stored, one is evaluated, then a new process asks for the rest.
  JobFacts parts = facts;
  REQUIRE(Ask(*Made("tune"), {prompts[0], prompts[1]}, &parts).ok());
  EvaluateAll(&parts);
  REQUIRE(Ask(*Made("tune"), {prompts[2], prompts[3]}, &parts).ok());
  for (size_t i = 0; i < 4; ++i) CHECK(*parts.prompts[i].completion == *whole.prompts[i].completion);
}

struct FullDisk : FactsSink {
  using FactsSink::FactsSink;
  absl::Status Deliver(std::vector<Completion>) override {
    ++delivered;
    return absl::ResourceExhaustedError("The disk is full.");
  }
  int delivered = 0;
};

TEST_CASE("tune stops at once when an answer cannot be stored") {
  JobFacts facts = Facts(1);
  FullDisk sink(&facts);
  CHECK(absl::IsResourceExhausted(Made("tune")->Answer(facts, AddPrompts(1, 4, &facts), sink)));
  CHECK(sink.delivered == 1);
}

constexpr char kRecording[] = R"json({
  "task": "transpose", "candidatesPerRound": 2,
  "entries": [
    {"round": 2, "slot": 0, "answer": "third"},
    {"round": 1, "slot": 1, "answer": "second"},
    {"round": 1, "slot": 0, "branch": "TASK", "prompt": "Write it.", "answer": "first", "change": "one"}
  ]})json";

TEST_CASE("replay answers in the order of round and slot, and is then at its end") {
  const auto replay = Made("replay", {{"recording", kRecording}});
  CHECK(replay->candidates_per_round_default() == 2);
  JobFacts facts = Facts(1);
  const auto first_round = AddPrompts(1, 2, &facts);
  REQUIRE(Ask(*replay, {first_round[1]}, &facts).ok());  // the first was answered before a crash, say
  CHECK(*facts.prompts[1].completion == "second");
  REQUIRE(Ask(*replay, {first_round[0]}, &facts).ok());
  CHECK(*facts.prompts[0].completion == "first");
  CHECK(facts.prompts[0].change == "one");
  const absl::Status status = Ask(*replay, AddPrompts(2, 2, &facts), &facts);
  CHECK(absl::IsOutOfRange(status));
  CHECK(*facts.prompts[2].completion == "third");
  CHECK(!facts.prompts[3].completion);
}

TEST_CASE("the recording bundled with the transpose is a dialogue of whole candidate files that can be launched") {
  const std::string folder = std::string(FSR_SOURCE_DIR) + "/tasks/transpose";
  const auto task = LoadTask(folder);
  REQUIRE(task.ok());
  const auto recording = ReadFile(folder + "/recording.json", 1 << 20);
  REQUIRE(recording.ok());
  const auto replay = Made("replay", {{"recording", *recording}}, *task);
  CHECK(replay->candidates_per_round_default() == 1);
  JobFacts facts = Facts(1);
  CHECK(absl::IsOutOfRange(Ask(*replay, AddPrompts(1, 7, &facts), &facts)));
  for (const StoredPrompt& prompt : facts.prompts) {
    if (prompt.number == 7) continue;
    INFO("answer " << prompt.number);
    REQUIRE(prompt.completion);
    CHECK(!prompt.change.empty());
    const auto plan = ParseLaunchPlan(std::get<std::string>(ReadAnswer(*prompt.completion, {*task, ""})), *task);
    REQUIRE(plan.ok());
    for (const v1::Case& which : task->cases()) CHECK(Resolve(*plan, *task, which).ok());
    CHECK(Resolve(*plan, *task, task->measure()).ok());
  }
}

TEST_CASE("replay refuses what is no recording of the task") {
  CHECK_THAT(ErrorOf("replay", {}), Contains("recording.json"));
  CHECK_THAT(ErrorOf("replay", {{"recording", "{\"tusk\": 1}"}}), Contains("not a recording in JSON"));
  CHECK_THAT(ErrorOf("replay", {{"recording", "{\"task\": \"sum\"}"}}),
             Contains("\"sum\"") && Contains("\"transpose\""));
  CHECK_THAT(ErrorOf("replay", {{"recording", "{\"task\": \"transpose\"}"}}), Contains("no entries"));
}

}  // namespace
}  // namespace fsr
