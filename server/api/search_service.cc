#include "server/api/search_service.h"

#include <vector>

#include "common/status_macros.h"
#include "server/api/grpc_status.h"
#include "server/api/limits.h"
#include "server/api/single_evaluation.h"

namespace fsr {

grpc::Status SearchServiceImpl::CreateJob(grpc::ServerContext*, const v1::CreateJobRequest* request,
                                          v1::Job* response) {
  return Answer(coordinator_.CreateJob(*request), response);
}

grpc::Status SearchServiceImpl::GetJob(grpc::ServerContext*, const v1::GetJobRequest* request, v1::Job* response) {
  return Answer(JobWithNote(request->name()), response);
}

absl::StatusOr<v1::Job> SearchServiceImpl::JobWithNote(const std::string& name) {
  ASSIGN_OR_RETURN(v1::Job job, store_.GetJob(name));
  job.set_note(coordinator_.NoteOf(name));
  return job;
}

grpc::Status SearchServiceImpl::ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                                         v1::ListJobsResponse* response) {
  return Answer(store_.ListJobs(*request), response);
}

grpc::Status SearchServiceImpl::CancelJob(grpc::ServerContext*, const v1::CancelJobRequest* request,
                                          v1::Job* response) {
  return Answer(coordinator_.CancelJob(request->name()), response);
}

absl::Status SearchServiceImpl::Watch(const v1::WatchJobRequest& request, const grpc::ServerContext& context,
                                      grpc::ServerWriter<v1::Event>& writer) {
  ASSIGN_OR_RETURN(const JobId job, store_.FindJob(request.name()));
  const Waiting::Place place(&waiting_);
  uint64_t sequence = request.after_sequence();
  std::string note;
  while (true) {
    RETURN_IF_ERROR(place.Check());
    if (context.IsCancelled()) return absl::CancelledError("the client has gone");
    const uint64_t seen = store_.changes().Version();
    // In this order: whatever happened before the end is then among the events.
    ASSIGN_OR_RETURN(const bool ended, store_.HasJobEnded(job));
    ASSIGN_OR_RETURN(const std::vector<v1::Event> events, store_.EventsAfter(job, sequence, kEventsPerRead));
    for (const v1::Event& event : events) {
      if (!writer.Write(event)) return absl::CancelledError("the client has gone");
      sequence = event.sequence();
    }
    if (!events.empty()) continue;
    if (ended) return absl::OkStatus();
    if (std::string now = coordinator_.NoteOf(request.name()); now != note) {
      note = std::move(now);
      v1::Event event;
      event.set_sequence(sequence);
      event.set_at_us(absl::ToUnixMicros(clock_.Now()));
      event.set_job(request.name());
      ASSIGN_OR_RETURN(*event.mutable_job_state_changed()->mutable_job(), JobWithNote(request.name()));
      if (!writer.Write(event)) return absl::CancelledError("the client has gone");
    }
    store_.changes().AwaitChange(seen, clock_.Now() + kClientCheckInterval);
  }
}

grpc::Status SearchServiceImpl::WatchJob(grpc::ServerContext* context, const v1::WatchJobRequest* request,
                                         grpc::ServerWriter<v1::Event>* writer) {
  return ToGrpc(Watch(*request, *context, *writer));
}

grpc::Status SearchServiceImpl::ListCandidates(grpc::ServerContext*, const v1::ListCandidatesRequest* request,
                                               v1::ListCandidatesResponse* response) {
  return Answer(store_.ListCandidates(*request), response);
}

grpc::Status SearchServiceImpl::GetCandidate(grpc::ServerContext*, const v1::GetCandidateRequest* request,
                                             v1::Candidate* response) {
  return Answer(store_.GetCandidate(request->name()), response);
}

grpc::Status SearchServiceImpl::GetDialogue(grpc::ServerContext*, const v1::GetDialogueRequest* request,
                                            v1::Dialogue* response) {
  return Answer(store_.GetDialogue(*request), response);
}

grpc::Status SearchServiceImpl::GetBestKernel(grpc::ServerContext*, const v1::GetBestKernelRequest* request,
                                              v1::Candidate* response) {
  return Answer(store_.GetBestKernel(*request), response);
}

grpc::Status SearchServiceImpl::Evaluate(grpc::ServerContext* context, const v1::EvaluateRequest* request,
                                         v1::Evaluation* response) {
  const auto client_gone = [context] { return context->IsCancelled(); };
  return Answer(EvaluateSingle(*request, &store_, &clock_, &waiting_, client_gone), response);
}

grpc::Status SearchServiceImpl::ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                                            v1::ListWorkersResponse* response) {
  return Answer(dispatcher_.ListWorkers(), response);
}

grpc::Status SearchServiceImpl::ListTasks(grpc::ServerContext*, const v1::ListTasksRequest*,
                                          v1::ListTasksResponse* response) {
  return Answer(store_.ListTasks(), response);
}

grpc::Status SearchServiceImpl::ListLessons(grpc::ServerContext*, const v1::ListLessonsRequest* request,
                                            v1::ListLessonsResponse* response) {
  return Answer(store_.ListLessons(*request), response);
}

}  // namespace fsr
