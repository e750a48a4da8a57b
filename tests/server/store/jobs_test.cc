#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "common/status.h"
#include "tests/server/store/store_fixture.h"

namespace fsr {

TEST_CASE("the same request id gives the same job") {
  StoreFixture fixture;
  const auto first = fixture.store->CreateJob(SomeRequest("r1"), "p").value();
  const auto again = fixture.store->CreateJob(SomeRequest("r1"), "p").value();
  CHECK(first.created);
  CHECK_FALSE(again.created);
  CHECK(again.job.name() == first.job.name());
  CHECK(fixture.store->ListJobs({}).value().jobs_size() == 1);
}

TEST_CASE("the same request id with another content is refused") {
  StoreFixture fixture;
  REQUIRE(fixture.store->CreateJob(SomeRequest("r1"), "p").ok());
  v1::CreateJobRequest other = SomeRequest("r1");
  other.mutable_options()->set_round_count_max(99);
  const absl::Status refused = fixture.store->CreateJob(other, "p").status();
  CHECK(refused.code() == absl::StatusCode::kAlreadyExists);
  CHECK_THAT(MessageOf(refused), Catch::Contains("r1") && Catch::Contains("jobs/transpose-1"));
}

TEST_CASE("a request repeated with another drawn seed is the same request") {
  StoreFixture fixture;
  v1::CreateJobRequest sent = SomeRequest("r1");
  sent.mutable_options()->clear_seed();
  v1::CreateJobRequest filled = sent;
  filled.mutable_options()->set_seed(1);
  const auto first = fixture.store->CreateJob(filled, "p", ContentHash(sent)).value();
  filled.mutable_options()->set_seed(2);
  const auto again = fixture.store->CreateJob(filled, "p", ContentHash(sent)).value();
  CHECK_FALSE(again.created);
  CHECK(again.job.options().seed() == 1);
  CHECK(again.job.name() == first.job.name());
}

TEST_CASE("requests without an id are always new jobs") {
  StoreFixture fixture;
  CHECK(fixture.store->CreateJob(SomeRequest(), "p").value().created);
  CHECK(fixture.store->CreateJob(SomeRequest(), "p").value().created);
}

TEST_CASE("the content hash does not depend on the order in which options were added") {
  v1::CreateJobRequest forward, backward;
  for (int i = 0; i < 50; ++i) (*forward.mutable_generator()->mutable_options())[fmt::format("o{}", i)] = "value";
  for (int i = 49; i >= 0; --i) (*backward.mutable_generator()->mutable_options())[fmt::format("o{}", i)] = "value";
  CHECK(ContentHash(forward) == ContentHash(backward));
  (*forward.mutable_generator()->mutable_options())["o3"] = "other";
  CHECK(ContentHash(forward) != ContentHash(backward));
}

TEST_CASE("a request id may have 128 characters and no more") {
  StoreFixture fixture;
  CHECK(fixture.store->CreateJob(SomeRequest(std::string(128, 'r')), "p").ok());
  CHECK(fixture.store->CreateJob(SomeRequest(std::string(129, 'r')), "p").status().code() ==
        absl::StatusCode::kInvalidArgument);
}

TEST_CASE("job numbers are unique over tasks") {
  StoreFixture fixture;
  CHECK(fixture.store->CreateJob(SomeRequest("", "transpose"), "p").value().job.name() == "jobs/transpose-1");
  CHECK(fixture.store->CreateJob(SomeRequest("", "matmul"), "p").value().job.name() == "jobs/matmul-2");
  CHECK(fixture.store->CreateJob(SomeRequest("", "transpose"), "p").value().job.name() == "jobs/transpose-3");
}

TEST_CASE("an unknown job is NOT_FOUND with the way to list those there are") {
  StoreFixture fixture;
  const absl::Status status = fixture.store->GetJob("jobs/nothing-9").status();
  CHECK(status.code() == absl::StatusCode::kNotFound);
  CHECK_THAT(MessageOf(status), Catch::Contains("jobs/nothing-9") && Catch::Contains("fsr jobs"));
}

TEST_CASE("a job keeps the whole request") {
  StoreFixture fixture;
  const JobId job = fixture.NewJob();
  const JobFacts facts = fixture.store->LoadFacts(job).value();
  const v1::CreateJobRequest request = SomeRequest();
  CHECK(facts.task.SerializeAsString() == request.task().SerializeAsString());
  CHECK(facts.prompt_templates.at("task.mustache") == "Write {{name}}.");
  CHECK(facts.job.generator().name() == "tune");
  CHECK(facts.job.options().seed() == 11);
  CHECK(facts.job.prompts_hash() == "prompts");
  CHECK(facts.job.state() == v1::Job::QUEUED);
  CHECK(facts.job.created_at_us() == 1'800'000'000'000'000);
}

TEST_CASE("a recording as an option is kept in full but shown by its size") {
  StoreFixture fixture;
  v1::CreateJobRequest request = SomeRequest();
  (*request.mutable_generator()->mutable_options())["recording"] = std::string(100'000, 'r');
  const JobId job = fixture.NewJob(request);
  CHECK(fixture.store->LoadFacts(job).value().job.generator().options().at("recording").size() == 100'000);
  CHECK(fixture.store->GetJob("jobs/transpose-1").value().generator().options().at("recording") == "(100000 bytes)");
  CHECK(fixture.Events(job).front().ByteSizeLong() < 10'000);
}

TEST_CASE("a job starts once and ends once") {
  StoreFixture fixture;
  const JobId job = fixture.NewJob();
  CHECK(fixture.store->StartJob(job).ok());
  CHECK(fixture.store->StartJob(job).ok());
  fixture.clock.Advance(absl::Seconds(5));
  CHECK(fixture.store->EndJob(job, v1::Job::FINISHED, "all rounds are done").ok());
  CHECK(fixture.store->EndJob(job, v1::Job::CANCELLED, "too late").code() == absl::StatusCode::kFailedPrecondition);
  CHECK(fixture.store->StartJob(job).code() == absl::StatusCode::kFailedPrecondition);
  const v1::Job ended = fixture.store->GetJob("jobs/transpose-1").value();
  CHECK(ended.state() == v1::Job::FINISHED);
  CHECK(ended.stop_reason() == "all rounds are done");
  CHECK(ended.finished_at_us() == 1'800'000'005'000'000);

  std::vector<v1::Job::State> states;
  for (const v1::Event& event : fixture.Events(job)) states.push_back(event.job_state_changed().job().state());
  CHECK(states == std::vector{v1::Job::QUEUED, v1::Job::RUNNING, v1::Job::FINISHED});
}

TEST_CASE("a job cannot end as running") {
  StoreFixture fixture;
  const JobId job = fixture.NewJob();
  CHECK(fixture.store->EndJob(job, v1::Job::RUNNING, "").code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("unfinished jobs are listed oldest first") {
  StoreFixture fixture;
  const JobId first = fixture.NewJob();
  const JobId second = fixture.NewJob();
  const JobId third = fixture.NewJob();
  REQUIRE(fixture.store->StartJob(third).ok());
  REQUIRE(fixture.store->EndJob(second, v1::Job::FAILED, "the disk is full").ok());
  CHECK(fixture.store->UnfinishedJobs().value() == std::vector<JobId>{first, third});
}

TEST_CASE("pages of jobs hold each job once, newest first") {
  StoreFixture fixture;
  for (int i = 0; i < 7; ++i) fixture.NewJob();
  v1::ListJobsRequest request;
  request.set_page_size(3);
  std::vector<std::string> names;
  int pages = 0;
  do {
    const v1::ListJobsResponse page = fixture.store->ListJobs(request).value();
    for (const v1::Job& job : page.jobs()) names.push_back(job.name());
    request.set_page_token(page.next_page_token());
    ++pages;
    fixture.NewJob();  // one that comes in between disturbs nothing
  } while (!request.page_token().empty());
  CHECK(pages == 3);
  std::vector<std::string> expected;
  for (int number = 7; number >= 1; --number) expected.push_back(fmt::format("jobs/transpose-{}", number));
  CHECK(names == expected);
}

TEST_CASE("a page token that was never given out is refused") {
  StoreFixture fixture;
  v1::ListJobsRequest request;
  request.set_page_token("../etc");
  CHECK(fixture.store->ListJobs(request).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("waiters are told of changes, and only of changes") {
  StoreFixture fixture;
  const uint64_t before = fixture.store->changes().Version();
  const JobId job = fixture.NewJob();
  const uint64_t created = fixture.store->changes().Version();
  CHECK(created != before);
  REQUIRE(fixture.store->StartJob(job).ok());
  const uint64_t started = fixture.store->changes().Version();
  CHECK(started != created);
  REQUIRE(fixture.store->StartJob(job).ok());
  REQUIRE(fixture.store->Lease(SimulatedDevice(), "w", "b", "l").ok());
  REQUIRE(fixture.store->LoadFacts(job).ok());
  CHECK(fixture.store->changes().Version() == started);
}

}  // namespace fsr
