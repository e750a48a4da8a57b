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
inline constexpr absl::Duration kUpkeepInterval = absl::Seconds(2);
inline constexpr int kRestoreMax = 50;  // of one call

// What the owner of local processes does for a call, so that none of them is missed by a call that waits for it.
struct Upkeep {
  // After UNAVAILABLE: has the client connected to a coordinator again; the call is then made once more. Every call may
  // be: it reads, or names its request, or leaves nothing behind.
  std::function<absl::Status()> restore;
  // Every kUpkeepInterval of a long call; an error ends the call.
  std::function<absl::Status()> look_after;
};

// Every call gives the server's status: code and sentence. Safe for concurrent use, unless it has an upkeep.
class SearchClient {
 public:
  explicit SearchClient(const std::string& address, Upkeep upkeep = {});
  ~SearchClient();
  SearchClient(const SearchClient&) = delete;  // owns the channel
  SearchClient& operator=(const SearchClient&) = delete;

  void Connect(const std::string& address);

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
  absl::StatusOr<v1::ListLessonsResponse> ListLessons(const v1::ListLessonsRequest& request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
