#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "common/status.h"
#include "tests/server/store/store_fixture.h"

namespace fsr {

TEST_CASE("pages of candidates hold each once, in the order they were made, without sources") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(5);
  for (int prompt = 1; prompt <= 5; ++prompt) fixture.AddCandidate(job, prompt, fmt::format("k{}", prompt));
  v1::ListCandidatesRequest request;
  request.set_job("jobs/transpose-1");
  request.set_page_size(2);
  std::vector<std::string> hashes;
  do {
    const v1::ListCandidatesResponse page = fixture.store->ListCandidates(request).value();
    CHECK(page.candidates_size() <= 2);
    for (const v1::Candidate& candidate : page.candidates()) {
      CHECK(candidate.source().empty());
      hashes.push_back(candidate.source_hash());
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  CHECK(hashes == std::vector<std::string>{"hash of k1", "hash of k2", "hash of k3", "hash of k4", "hash of k5"});
}

TEST_CASE("a page of large candidates ends early enough for a client's default limit of 4 MiB") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(6);
  v1::Evaluation large = Failed(v1::COMPILE_ERROR);
  large.set_compile_log(std::string(900'000, 'e'));
  for (int prompt = 1; prompt <= 6; ++prompt) {
    fixture.AddCandidate(job, prompt, fmt::format("k{}", prompt));
    fixture.FinishNext(large);
  }
  v1::ListCandidatesRequest request;
  request.set_job("jobs/transpose-1");
  int seen = 0;
  do {
    const v1::ListCandidatesResponse page = fixture.store->ListCandidates(request).value();
    CHECK(page.ByteSizeLong() < 4u << 20);
    REQUIRE(page.candidates_size() > 0);
    seen += page.candidates_size();
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  CHECK(seen == 6);
}

TEST_CASE("a candidate is read with its source and where it came from") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(1);
  fixture.AddCandidate(job, 1, "kernel one");
  REQUIRE(fixture.store
              ->StartRound(job, 2,
                           {NewPrompt{.branch = v1::RUN_FAILURE,
                                      .dialogue = 1,
                                      .parent_candidate = 1,
                                      .system_text = "s",
                                      .user_text = "fix"}})
              .ok());
  REQUIRE(fixture.store->StoreCompletion(job, 2, "better", "wider loads").ok());
  fixture.AddCandidate(job, 2, "kernel two");
  const v1::Candidate candidate = fixture.store->GetCandidate("jobs/transpose-1/candidates/2").value();
  CHECK(candidate.source() == "kernel two");
  CHECK(candidate.round() == 2);
  CHECK(candidate.parent() == "jobs/transpose-1/candidates/1");
  CHECK(candidate.dialogue() == "jobs/transpose-1/dialogues/1");
  CHECK(candidate.change() == "wider loads");
  CHECK(candidate.evaluation().outcome() == v1::OUTCOME_UNSPECIFIED);
  CHECK(candidate.duplicate_of().empty());
}

TEST_CASE("names that are none, and names of nothing, are told apart") {
  StoreFixture fixture;
  fixture.NewJob();
  CHECK(fixture.store->GetCandidate("candidate 3").status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(fixture.store->GetCandidate("jobs/transpose-1/candidates/0").status().code() ==
        absl::StatusCode::kInvalidArgument);
  CHECK(fixture.store->GetCandidate("jobs/transpose-1/candidates/3").status().code() == absl::StatusCode::kNotFound);
  CHECK(fixture.store->GetCandidate("jobs/transpose-2/candidates/3").status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("a dialogue is the messages of one lineage; without a name, of all") {
  StoreFixture fixture;
  const JobId job = fixture.JobWithAnswers(2);
  fixture.AddCandidate(job, 1, "kernel one");
  REQUIRE(fixture.store
              ->StartRound(job, 2,
                           {NewPrompt{.branch = v1::COMPILE_FAILURE,
                                      .dialogue = 1,
                                      .parent_candidate = 1,
                                      .system_text = "You write kernels.",
                                      .user_text = "Mend it."}})
              .ok());
  v1::GetDialogueRequest request;
  request.set_name("jobs/transpose-1/dialogues/1");
  const v1::Dialogue one = fixture.store->GetDialogue(request).value();
  REQUIRE(one.messages_size() == 4);
  CHECK(one.messages(0).role() == v1::Message::SYSTEM);
  CHECK(one.messages(1).text() == "Write one.");
  CHECK(one.messages(1).branch() == v1::TASK);
  CHECK(one.messages(2).role() == v1::Message::ASSISTANT);
  CHECK(one.messages(2).text() == "answer 1");
  CHECK(one.messages(2).candidate() == "jobs/transpose-1/candidates/1");
  CHECK(one.messages(3).text() == "Mend it.");
  CHECK(one.messages(3).branch() == v1::COMPILE_FAILURE);
  CHECK(one.messages(3).round() == 2);

  request.clear_name();
  request.set_job("jobs/transpose-1");
  CHECK(fixture.store->GetDialogue(request).value().messages_size() == 6);
  request.set_name("jobs/transpose-1/dialogues/9");
  CHECK(fixture.store->GetDialogue(request).status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("the best kernel is the fastest right one over all jobs, by kind of device") {
  StoreFixture fixture;
  const auto run_job = [&](const std::string& kind, const v1::DeviceFacts& device, double latency_us) {
    v1::CreateJobRequest job_request = SomeRequest();
    job_request.set_device_kind(kind);
    const JobId job = fixture.NewJob(job_request);
    REQUIRE(fixture.store->StartRound(job, 1, {NewPrompt{.system_text = "s", .user_text = "u"}}).ok());
    REQUIRE(fixture.store->StoreCompletion(job, 1, "a", "").ok());
    fixture.AddCandidate(job, 1, fmt::format("of {} us", latency_us));
    const std::string lease = fmt::format("best-{}", job);
    REQUIRE(fixture.store->Lease(device, "w", "b", lease).value().has_value());
    REQUIRE(fixture.store->Finish(lease, Measured(latency_us, device)).value());
  };
  v1::GetBestKernelRequest request;
  request.set_task("transpose");
  CHECK(fixture.store->GetBestKernel(request).status().code() == absl::StatusCode::kNotFound);
  run_job("sim:h200", SimulatedDevice(), 2);
  run_job("sim:h200", SimulatedDevice(), 3);
  CHECK(fixture.store->GetBestKernel(request).value().source() == "of 2 us");
  run_job("cuda", RealDevice(), 8);
  run_job("cuda", RealDevice(), 7);
  CHECK(fixture.store->GetBestKernel(request).value().source() == "of 7 us");  // an estimate never wins
  request.set_device_kind("nvidia-h200");
  CHECK(fixture.store->GetBestKernel(request).value().source() == "of 7 us");
  request.set_device_kind("sim:h200");
  CHECK(fixture.store->GetBestKernel(request).value().source() == "of 2 us");
  request.set_device_kind("nvidia-b200");
  CHECK(fixture.store->GetBestKernel(request).status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("tasks are listed with their jobs and devices") {
  StoreFixture fixture;
  fixture.NewJob(SomeRequest("", "transpose"));
  v1::CreateJobRequest edited = SomeRequest("", "transpose");
  edited.mutable_task()->set_description("Turns columns into rows.");
  edited.set_device_kind("cuda");
  fixture.NewJob(edited);
  fixture.NewJob(SomeRequest("", "matmul"));
  const v1::ListTasksResponse tasks = fixture.store->ListTasks().value();
  REQUIRE(tasks.tasks_size() == 2);
  CHECK(tasks.tasks(0).name() == "matmul");
  CHECK(tasks.tasks(1).job_count() == 2);
  CHECK(tasks.tasks(1).description() == "Turns columns into rows.");
  CHECK(tasks.tasks(1).device_kinds_size() == 2);
}

}  // namespace fsr
