#include "server/search/coordinator.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "common/files.h"
#include "common/random.h"
#include "common/task_loader.h"
#include "server/search/plan_round.h"
#include "tests/server/made_task.h"
#include "tests/server/search/fake_pool.h"

namespace fsr {
namespace {

using Catch::Contains;
using testing::FakePool;
using testing::FastClock;

std::string Answer(const std::string& marks) {
  return "Here:\n```cuda\n// fsr: launch transpose grid=(1) block=(32)\n__global__ void transpose(const float* input, "
         "float* "
         "output, int rows, int cols) { const char* mark = \"" +
         marks + "\"; }\n```\n";
}

// Answers the k-th prompt of a job with the k-th script; keeps count over all instances and processes.
struct Script {
  std::vector<std::string> answers;
  std::vector<absl::Status> troubles;  // returned by the first calls
  absl::Mutex mutex;
  std::map<int, int> delivered ABSL_GUARDED_BY(mutex);
  int calls ABSL_GUARDED_BY(mutex) = 0;
};

class Scripted : public Generator {
 public:
  explicit Scripted(Script* script) : script_(*script) {}
  absl::Status Answer(const JobFacts&, const std::vector<StoredPrompt>& prompts, AnswerSink& sink) override {
    {
      absl::MutexLock lock(&script_.mutex);
      const auto call = static_cast<size_t>(script_.calls++);
      if (call < script_.troubles.size()) return script_.troubles[call];
    }
    for (const StoredPrompt& prompt : prompts) {
      if (prompt.number > static_cast<int>(script_.answers.size())) return absl::OutOfRangeError("The end.");
      {
        absl::MutexLock lock(&script_.mutex);
        ++script_.delivered[prompt.number];
      }
      const absl::Status status =
          sink.Deliver({{prompt.number, script_.answers[static_cast<size_t>(prompt.number) - 1], "c"}});
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  Script& script_;
};

// A store, a pool of workers and coordinators on them.
struct House {
  explicit House(Store::Options options = {}) : clock(200) {
    auto opened = Store::Open(":memory:", &clock, options);
    REQUIRE(opened.ok());
    store = *std::move(opened);
    pool = std::make_unique<FakePool>(store.get());
    auto loaded = LoadPromptTemplates(std::string(FSR_SOURCE_DIR) + "/prompts");
    REQUIRE(loaded.ok());
    templates = *std::move(loaded);
  }

  std::unique_ptr<Coordinator> NewCoordinator(int running_jobs_max = kRunningJobsMax) {
    Coordinator::Options options;
    options.templates = templates;
    options.running_jobs_max = running_jobs_max;
    options.new_generator = [this](const v1::GeneratorSpec& spec,
                                   const v1::Task& task) -> absl::StatusOr<std::unique_ptr<Generator>> {
      if (spec.name() == "scripted") return std::make_unique<Scripted>(&script);
      return NewGenerator(spec, task);
    };
    return std::make_unique<Coordinator>(store.get(), &clock, std::move(options));
  }

  v1::CreateJobRequest Request(uint32_t candidates_per_round, uint32_t rounds = 20) {
    v1::CreateJobRequest request;
    *request.mutable_task() = testing::TransposeTask();
    request.set_device_kind("sim:h200");
    request.mutable_generator()->set_name("scripted");
    request.mutable_options()->set_candidates_per_round(candidates_per_round);
    request.mutable_options()->set_round_count_max(rounds);
    return request;
  }

  v1::Job Await(const std::string& name, const std::function<bool(const v1::Job&)>& holds) {
    const absl::Time give_up = SystemClock()->Now() + absl::Seconds(60);
    while (true) {
      const uint64_t seen = store->changes().Version();
      const auto job = store->GetJob(name);
      REQUIRE(job.ok());
      if (holds(*job)) return *job;
      REQUIRE(SystemClock()->Now() < give_up);
      store->changes().AwaitChange(seen, clock.Now() + absl::Seconds(100));
    }
  }
  v1::Job AwaitEnd(const std::string& name) {
    return Await(name, [](const v1::Job& job) { return job.state() > v1::Job::RUNNING; });
  }
  JobFacts Facts(const std::string& name) { return *store->LoadFacts(*store->FindJob(name)); }

  FastClock clock;
  PromptTemplates templates;
  Script script;
  std::unique_ptr<Store> store;
  std::unique_ptr<FakePool> pool;
};

std::string Created(Coordinator& coordinator, const v1::CreateJobRequest& request) {
  const auto job = coordinator.CreateJob(request);
  INFO((job.ok() ? "" : std::string(job.status().message())));
  REQUIRE(job.ok());
  return job->name();
}

TEST_CASE("a job goes through every branch from failures to a faster kernel, and ends when the generator has no more") {
  House house;
  house.script.answers = {Answer("outcome COMPILE_ERROR"),
                          "I cannot do that.",
                          Answer("outcome RUNTIME_FAULT"),
                          Answer("outcome MISMATCH"),
                          Answer("latency 50"),
                          Answer("latency 60"),
                          Answer("latency 25"),
                          Answer("outcome TIMEOUT"),
                          Answer("latency 25")};
  const auto coordinator = house.NewCoordinator();
  coordinator->Start();
  const v1::Job job = house.AwaitEnd(Created(*coordinator, house.Request(2)));
  CHECK(job.state() == v1::Job::FINISHED);
  CHECK_THAT(job.stop_reason(), Contains("nothing more to propose"));
  CHECK(job.best_latency_us() == 25);
  CHECK(job.speedup() == Approx(4));
  CHECK(job.estimated());

  const JobFacts facts = house.Facts(job.name());
  std::vector<v1::Branch> branches;
  for (const StoredPrompt& prompt : facts.prompts) branches.push_back(prompt.branch);
  CHECK(branches == std::vector<v1::Branch>{v1::TASK, v1::TASK, v1::COMPILE_FAILURE, v1::COMPILE_FAILURE,
                                            v1::RUN_FAILURE, v1::MISMATCH_FAILURE, v1::PERFORMANCE, v1::PERFORMANCE,
                                            v1::PERFORMANCE, v1::PERFORMANCE});
  CHECK(facts.candidates[1].evaluation == 0);
  CHECK(facts.candidates[1].result->outcome() == v1::COMPILE_ERROR);
  CHECK_THAT(facts.candidates[1].result->diagnosis(), Contains("```cuda"));
  CHECK(facts.candidates[8].duplicate_of == 7);
  CHECK_THAT(facts.prompts[6].user_text, Contains("latency 50"));
  CHECK(facts.prompts[6].dialogue == facts.prompts[0].dialogue);
  for (const auto& [source, count] : house.pool->counts()) CHECK(count == 1);
}

TEST_CASE("every evaluation has a seed of its own, and where times are measured references to beat") {
  House house;
  house.pool->set_measuring();
  house.script.answers = {Answer("latency 50"), Answer("latency 40")};
  const auto coordinator = house.NewCoordinator();
  coordinator->Start();
  v1::CreateJobRequest request = house.Request(1);
  request.mutable_options()->mutable_limits()->set_run_seconds(3);
  house.AwaitEnd(Created(*coordinator, request));
  const auto specs = house.pool->specs();
  REQUIRE(specs.size() == 3);
  CHECK(specs[0].references().empty());
  REQUIRE(specs[1].references_size() == 1);
  REQUIRE(specs[2].references_size() == 2);
  CHECK(specs[2].references(1).against() == v1::Comparison::INCUMBENT);
  CHECK(specs[2].references(1).source() == specs[1].source());
  std::set<uint64_t> seeds;
  for (const auto& spec : specs) {
    seeds.insert(spec.seed());
    CHECK(spec.limits().run_seconds() == 3);
  }
  CHECK(seeds.size() == 3);
}

TEST_CASE("a copy of the baseline costs no evaluation and is not the job's best") {
  House house;
  house.script.answers = {"```cuda\n// copied\n" + testing::TransposeTask().baseline_source() + "```"};
  const auto coordinator = house.NewCoordinator();
  coordinator->Start();
  const v1::Job job = house.AwaitEnd(Created(*coordinator, house.Request(1)));
  const JobFacts facts = house.Facts(job.name());
  REQUIRE(facts.candidates.size() == 1);
  CHECK(facts.candidates[0].result->outcome() == v1::MEASURED);
  CHECK(facts.candidates[0].result->comparisons(0).verdict() == v1::SAME);
  CHECK(facts.incumbent == 0);
  CHECK(house.pool->counts().size() == 1);
}

TEST_CASE("a coordinator that is replaced at any moment loses nothing and asks nothing twice") {
  House house;
  for (int i = 1; i <= 40; ++i) {
    house.script.answers.push_back(
        Answer(i % 3 == 0 ? "outcome MISMATCH " + std::to_string(i) : "latency " + std::to_string(100 - i)));
  }
  auto coordinator = house.NewCoordinator();
  const std::string name = Created(*coordinator, house.Request(4));
  SplitMix64 random(1);
  int replaced = 0;
  while (house.store->GetJob(name)->state() <= v1::Job::RUNNING) {
    coordinator->Start();
    SystemClock()->Sleep(absl::Microseconds(random.Below(6000)));
    coordinator.reset();
    coordinator = house.NewCoordinator();
    REQUIRE(++replaced < 10'000);
  }
  const JobFacts facts = house.Facts(name);
  CHECK(facts.candidates.size() == 40);
  CHECK(facts.job.best_latency_us() == 60);
  {
    absl::MutexLock lock(&house.script.mutex);
    CHECK(house.script.delivered.size() == 40);
    for (const auto& [prompt, count] : house.script.delivered) CHECK(count == 1);
  }
  for (const auto& [source, count] : house.pool->counts()) CHECK(count == 1);
}

TEST_CASE("a generator that is down is asked again until it answers") {
  House house;
  house.script.troubles = std::vector(4, absl::UnavailableError("The model is down."));
  house.script.answers = {Answer("latency 50")};
  const auto coordinator = house.NewCoordinator();
  coordinator->Start();
  const absl::Time start = house.clock.Now();
  const v1::Job job = house.AwaitEnd(Created(*coordinator, house.Request(1)));
  CHECK(job.best_latency_us() == 50);
  CHECK(house.clock.Now() - start >= absl::Seconds(1 + 2 + 4 + 8));
}

TEST_CASE("another error of the generator fails the job with its sentence") {
  House house;
  house.script.troubles = {absl::PermissionDeniedError("The key is wrong.")};
  const auto coordinator = house.NewCoordinator();
  coordinator->Start();
  const v1::Job job = house.AwaitEnd(Created(*coordinator, house.Request(1)));
  CHECK(job.state() == v1::Job::FAILED);
  CHECK_THAT(job.stop_reason(), Contains("\"scripted\"") && Contains("The key is wrong."));
}

TEST_CASE("a cancelled job, and a stop, end the wait for a generator that is down") {
  House house;
  house.script.troubles = std::vector(1000, absl::UnavailableError("The model is down."));
  auto coordinator = house.NewCoordinator();
  coordinator->Start();
  const std::string name = Created(*coordinator, house.Request(1));
  const auto has_begun = [](const v1::Job& job) { return job.round_count() == 1; };
  house.Await(name, has_begun);
  REQUIRE(house.store->EndJob(*house.store->FindJob(name), v1::Job::CANCELLED, "Asked for.").ok());
  const std::string second = Created(*coordinator, house.Request(1));
  house.Await(second, has_begun);
  coordinator->Stop();
  CHECK(house.store->GetJob(name)->state() == v1::Job::CANCELLED);
  CHECK(house.store->GetJob(second)->state() == v1::Job::RUNNING);
}

TEST_CASE("a store that refuses for a while does not fail a job") {
  Store::Options options;
  options.queued_evaluations_max = 1;
  House house(options);
  house.pool->set_paused(true);
  const auto coordinator = house.NewCoordinator();
  coordinator->Start();
  house.script.answers = {Answer("latency 50"), Answer("latency 40")};
  const std::string first = Created(*coordinator, house.Request(1));
  const std::string second = Created(*coordinator, house.Request(1));
  SystemClock()->Sleep(absl::Milliseconds(50));  // 10 s of the fast clock: one of them is refused, again and again
  house.pool->set_paused(false);
  CHECK(house.AwaitEnd(first).state() == v1::Job::FINISHED);
  CHECK(house.AwaitEnd(second).state() == v1::Job::FINISHED);
}

TEST_CASE("so many jobs run at a time, the others wait in line") {
  House house;
  house.pool->set_paused(true);
  const auto coordinator = house.NewCoordinator(/*running_jobs_max=*/2);
  coordinator->Start();
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i) names.push_back(Created(*coordinator, house.Request(1)));
  const auto runs = [](const v1::Job& job) { return job.state() == v1::Job::RUNNING; };
  house.Await(names[0], runs);
  house.Await(names[1], runs);
  SystemClock()->Sleep(absl::Milliseconds(20));
  CHECK(house.store->GetJob(names[2])->state() == v1::Job::QUEUED);
  house.pool->set_paused(false);
  for (const std::string& name : names) CHECK(house.AwaitEnd(name).state() == v1::Job::FINISHED);
}

TEST_CASE("the time of a job ends it while it waits") {
  House house;
  house.pool->set_paused(true);
  const auto coordinator = house.NewCoordinator();
  coordinator->Start();
  v1::CreateJobRequest request = house.Request(1);
  request.mutable_options()->set_wall_seconds_max(10);
  CHECK_THAT(house.AwaitEnd(Created(*coordinator, request)).stop_reason(), Contains("10 s is used up"));
}

TEST_CASE("tune runs a whole job without a model") {
  House house;
  const auto coordinator = house.NewCoordinator();
  coordinator->Start();
  v1::CreateJobRequest request = house.Request(4, 10);
  request.mutable_generator()->set_name("tune");
  const v1::Job job = house.AwaitEnd(Created(*coordinator, request));
  CHECK(job.state() == v1::Job::FINISHED);
  CHECK_THAT(job.stop_reason(), Contains("nothing more to propose"));
  CHECK(job.candidate_count() == 15);
  CHECK(job.duplicate_count() == 0);
}

TEST_CASE("the bundled recording replays the whole dialogue of the transpose, one candidate a round") {
  House house;
  const std::string folder = std::string(FSR_SOURCE_DIR) + "/tasks/transpose";
  v1::CreateJobRequest request = house.Request(0);
  *request.mutable_task() = *LoadTask(folder);
  request.mutable_generator()->set_name("replay");
  (*request.mutable_generator()->mutable_options())["recording"] = *ReadFile(folder + "/recording.json", 1 << 20);
  const auto coordinator = house.NewCoordinator();
  coordinator->Start();
  const v1::Job job = house.AwaitEnd(Created(*coordinator, request));
  CHECK(job.options().candidates_per_round() == 1);
  CHECK(job.candidate_count() == 6);
}

TEST_CASE("a request is completed with defaults and a drawn seed") {
  House house;
  const auto coordinator = house.NewCoordinator();
  v1::CreateJobRequest request = house.Request(0, 0);
  const auto job = coordinator->CreateJob(request);
  REQUIRE(job.ok());
  CHECK(job->options().round_count_max() == 8);
  CHECK(job->options().candidates_per_round() == 8);
  CHECK(job->options().seed() != 0);
  CHECK(coordinator->CreateJob(request)->options().seed() != job->options().seed());
  CHECK(!job->prompts_hash().empty());

  request.set_request_id("once");
  CHECK(coordinator->CreateJob(request)->name() == coordinator->CreateJob(request)->name());
  request.mutable_options()->set_round_count_max(3);
  CHECK(absl::IsAlreadyExists(coordinator->CreateJob(request).status()));
}

TEST_CASE("a request that cannot work is refused with what to change") {
  House house;
  const auto coordinator = house.NewCoordinator();
  const auto error = [&](const std::function<void(v1::CreateJobRequest*)>& change) {
    v1::CreateJobRequest request = house.Request(1);
    change(&request);
    const auto job = coordinator->CreateJob(request);
    REQUIRE(absl::IsInvalidArgument(job.status()));
    return std::string(job.status().message());
  };
  CHECK_THAT(error([](auto* r) { r->clear_device_kind(); }), Contains("device_kind") && Contains("sim:h200"));
  CHECK_THAT(error([](auto* r) { r->mutable_task()->clear_baseline_source(); }), Contains("baseline"));
  CHECK_THAT(error([](auto* r) { r->mutable_generator()->set_name("gpt"); }), Contains("replay, tune"));
  CHECK_THAT(error([](auto* r) { r->mutable_options()->set_round_count_max(kRoundsMax + 1); }),
             Contains("at most 10000"));
  CHECK_THAT(error([](auto* r) { r->mutable_options()->set_candidates_per_round(kCandidatesPerRoundMax + 1); }),
             Contains("at most 256"));
  CHECK_THAT(error([](auto* r) { r->mutable_options()->set_target_speedup(-1); }), Contains("target_speedup"));
  CHECK_THAT(
      error([](auto* r) { r->mutable_options()->set_wall_seconds_max(std::numeric_limits<double>::quiet_NaN()); }),
      Contains("wall_seconds_max"));
  CHECK_THAT(error([](auto* r) { (*r->mutable_prompt_templates())["task.mustache"] = "{{#open}}"; }),
             Contains("task.mustache"));
  CHECK_THAT(error([](auto* r) { r->set_request_id(std::string(129, 'x')); }), Contains("at most 128"));
  CHECK_THAT(error([](auto* r) {
               r->mutable_task()->clear_tunable_source();
               r->mutable_generator()->set_name("tune");
             }),
             Contains("tunable.cu"));
  v1::CreateJobRequest largest = house.Request(kCandidatesPerRoundMax, kRoundsMax);
  CHECK(coordinator->CreateJob(largest).ok());
}

TEST_CASE("a strategy is taken up to its limits and refused beyond them, by name") {
  House house;
  const auto coordinator = house.NewCoordinator();
  const auto status = [&](const std::function<void(v1::SearchStrategy*)>& change) {
    v1::CreateJobRequest request = house.Request(1);
    change(request.mutable_options()->mutable_strategy());
    return coordinator->CreateJob(request).status();
  };
  CHECK(status([](auto* s) {
          s->set_repair_share(1);
          s->set_parents(kParentsMax);
          s->set_temperature_low(kTemperatureMax);
          s->set_temperature_high(kTemperatureMax);
        }).ok());
  const auto error = [&](const std::function<void(v1::SearchStrategy*)>& change) {
    const absl::Status refused = status(change);
    REQUIRE(absl::IsInvalidArgument(refused));
    return std::string(refused.message());
  };
  CHECK_THAT(error([](auto* s) { s->set_repair_share(1.01); }), Contains("repair_share") && Contains("from 0 to 1"));
  CHECK_THAT(error([](auto* s) { s->set_repair_share(-0.01); }), Contains("repair_share"));
  CHECK_THAT(error([](auto* s) { s->set_repair_share(std::nan("")); }), Contains("repair_share"));
  CHECK_THAT(error([](auto* s) { s->set_parents(kParentsMax + 1); }), Contains("parents") && Contains("to 16"));
  CHECK_THAT(error([](auto* s) { s->set_temperature_high(2.01); }), Contains("temperature_high") && Contains("to 2"));
  CHECK_THAT(error([](auto* s) { s->set_temperature_low(0.5); }), Contains("must not be above"));
}

}  // namespace
}  // namespace fsr
