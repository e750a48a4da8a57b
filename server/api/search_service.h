// SearchService over gRPC: only translates.
#pragma once

#include "common/clock.h"
#include "fsr/v1/search.grpc.pb.h"
#include "server/api/waiting.h"
#include "server/dispatch/dispatcher.h"
#include "server/search/coordinator.h"
#include "server/store/store.h"

namespace fsr {

// Safe for concurrent use.
class SearchServiceImpl final : public v1::SearchService::Service {
 public:
  // REQUIRES: all of them outlive it.
  SearchServiceImpl(Store* store, Coordinator* coordinator, Dispatcher* dispatcher, Clock* clock,
                    int waiting_calls_max = kWaitingCallsMax)
      : store_(*store),
        coordinator_(*coordinator),
        dispatcher_(*dispatcher),
        clock_(*clock),
        waiting_(&store->changes(), waiting_calls_max) {}

  // Ends the calls that wait, with UNAVAILABLE.
  void Stop() { waiting_.Stop(); }

  grpc::Status CreateJob(grpc::ServerContext*, const v1::CreateJobRequest*, v1::Job*) override;
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest*, v1::Job*) override;
  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest*, v1::ListJobsResponse*) override;
  grpc::Status CancelJob(grpc::ServerContext*, const v1::CancelJobRequest*, v1::Job*) override;
  grpc::Status WatchJob(grpc::ServerContext*, const v1::WatchJobRequest*, grpc::ServerWriter<v1::Event>*) override;
  grpc::Status ListCandidates(grpc::ServerContext*, const v1::ListCandidatesRequest*,
                              v1::ListCandidatesResponse*) override;
  grpc::Status GetCandidate(grpc::ServerContext*, const v1::GetCandidateRequest*, v1::Candidate*) override;
  grpc::Status GetDialogue(grpc::ServerContext*, const v1::GetDialogueRequest*, v1::Dialogue*) override;
  grpc::Status GetBestKernel(grpc::ServerContext*, const v1::GetBestKernelRequest*, v1::Candidate*) override;
  grpc::Status Evaluate(grpc::ServerContext*, const v1::EvaluateRequest*, v1::Evaluation*) override;
  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*, v1::ListWorkersResponse*) override;
  grpc::Status ListTasks(grpc::ServerContext*, const v1::ListTasksRequest*, v1::ListTasksResponse*) override;
  grpc::Status ListLessons(grpc::ServerContext*, const v1::ListLessonsRequest*, v1::ListLessonsResponse*) override;

 private:
  absl::StatusOr<v1::Job> JobWithNote(const std::string& name);
  absl::Status Watch(const v1::WatchJobRequest& request, const grpc::ServerContext& context,
                     grpc::ServerWriter<v1::Event>& writer);

  Store& store_;
  Coordinator& coordinator_;
  Dispatcher& dispatcher_;
  Clock& clock_;
  Waiting waiting_;
};

}  // namespace fsr
