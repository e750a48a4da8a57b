// SearchService as plain calls: the only part of the client that knows gRPC.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "fsr/v1/search.pb.h"

namespace fsr {

// Limits of one call. Evaluate and WatchJob take as long as they take.
inline constexpr absl::Duration kCallTimeout = absl::Seconds(60);
inline constexpr int kReceivedMessageBytesMax = 64 << 20;

// Safe for concurrent use. Every call gives the server's status: code and sentence.
class SearchClient {
 public:
  explicit SearchClient(const std::string& address);
  ~SearchClient();
  SearchClient(const SearchClient&) = delete;  // owns the channel
  SearchClient& operator=(const SearchClient&) = delete;

  // OK if a coordinator answers at the address within `timeout`.
  absl::Status Reach(absl::Duration timeout);

  absl::StatusOr<v1::Job> CreateJob(const v1::CreateJobRequest& request);
  absl::StatusOr<v1::Job> GetJob(const std::string& name);
  absl::StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request);
  absl::StatusOr<v1::Job> CancelJob(const std::string& name);
  // Calls `on_event` for each event after `after_sequence`; returns OK when the job has ended or `on_event` said false.
  absl::Status WatchJob(const std::string& name, uint64_t after_sequence,
                        const std::function<bool(const v1::Event&)>& on_event);
  // All pages.
  absl::StatusOr<v1::ListCandidatesResponse> ListCandidates(const std::string& job);
  absl::StatusOr<v1::Candidate> GetCandidate(const std::string& name);
  absl::StatusOr<v1::Dialogue> GetDialogue(const v1::GetDialogueRequest& request);
  absl::StatusOr<v1::Candidate> GetBestKernel(const v1::GetBestKernelRequest& request);
  absl::StatusOr<v1::Evaluation> Evaluate(const v1::EvaluateRequest& request);
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers();
  absl::StatusOr<v1::ListTasksResponse> ListTasks();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
