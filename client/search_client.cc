#include "client/search_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "fsr/v1/search.grpc.pb.h"

namespace fsr {

struct SearchClient::Impl {
  std::unique_ptr<v1::SearchService::Stub> stub;
};

namespace {

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
  if (timeout != absl::InfiniteDuration()) {
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  }
}

// One unary call: `method` is a member function of the stub.
template <typename Response, typename Request, typename Method>
absl::StatusOr<Response> Call(v1::SearchService::Stub& stub, Method method, const Request& request,
                              absl::Duration timeout = kCallTimeout) {
  grpc::ClientContext context;
  SetDeadline(context, timeout);
  Response response;
  if (absl::Status status = FromGrpc((stub.*method)(&context, request, &response)); !status.ok()) return status;
  return response;
}

using Stub = v1::SearchService::Stub;

}  // namespace

SearchClient::SearchClient(const std::string& address) : impl_(std::make_unique<Impl>()) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kReceivedMessageBytesMax);
  // A proxy setting of the environment is not meant for a coordinator.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  impl_->stub =
      v1::SearchService::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

SearchClient::~SearchClient() = default;

absl::Status SearchClient::Reach(absl::Duration timeout) {
  return Call<v1::ListTasksResponse>(*impl_->stub, &Stub::ListTasks, v1::ListTasksRequest(), timeout).status();
}

absl::StatusOr<v1::Job> SearchClient::CreateJob(const v1::CreateJobRequest& request) {
  return Call<v1::Job>(*impl_->stub, &Stub::CreateJob, request);
}

absl::StatusOr<v1::Job> SearchClient::GetJob(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  return Call<v1::Job>(*impl_->stub, &Stub::GetJob, request);
}

absl::StatusOr<v1::ListJobsResponse> SearchClient::ListJobs(const v1::ListJobsRequest& request) {
  return Call<v1::ListJobsResponse>(*impl_->stub, &Stub::ListJobs, request);
}

absl::StatusOr<v1::Job> SearchClient::CancelJob(const std::string& name) {
  v1::CancelJobRequest request;
  request.set_name(name);
  return Call<v1::Job>(*impl_->stub, &Stub::CancelJob, request);
}

absl::Status SearchClient::WatchJob(const std::string& name, uint64_t after_sequence,
                                    const std::function<bool(const v1::Event&)>& on_event) {
  grpc::ClientContext context;
  v1::WatchJobRequest request;
  request.set_name(name);
  request.set_after_sequence(after_sequence);
  auto reader = impl_->stub->WatchJob(&context, request);
  v1::Event event;
  while (reader->Read(&event)) {
    if (!on_event(event)) {
      context.TryCancel();
      reader->Finish();
      return absl::OkStatus();
    }
  }
  return FromGrpc(reader->Finish());
}

absl::StatusOr<v1::ListCandidatesResponse> SearchClient::ListCandidates(const std::string& job) {
  v1::ListCandidatesResponse all;
  v1::ListCandidatesRequest request;
  request.set_job(job);
  do {
    auto page = Call<v1::ListCandidatesResponse>(*impl_->stub, &Stub::ListCandidates, request);
    if (!page.ok()) return page.status();
    request.set_page_token(page->next_page_token());
    all.mutable_candidates()->MergeFrom(page->candidates());
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<v1::Candidate> SearchClient::GetCandidate(const std::string& name) {
  v1::GetCandidateRequest request;
  request.set_name(name);
  return Call<v1::Candidate>(*impl_->stub, &Stub::GetCandidate, request);
}

absl::StatusOr<v1::Dialogue> SearchClient::GetDialogue(const v1::GetDialogueRequest& request) {
  return Call<v1::Dialogue>(*impl_->stub, &Stub::GetDialogue, request);
}

absl::StatusOr<v1::Candidate> SearchClient::GetBestKernel(const v1::GetBestKernelRequest& request) {
  return Call<v1::Candidate>(*impl_->stub, &Stub::GetBestKernel, request);
}

absl::StatusOr<v1::Evaluation> SearchClient::Evaluate(const v1::EvaluateRequest& request) {
  return Call<v1::Evaluation>(*impl_->stub, &Stub::Evaluate, request, absl::InfiniteDuration());
}

absl::StatusOr<v1::ListWorkersResponse> SearchClient::ListWorkers() {
  return Call<v1::ListWorkersResponse>(*impl_->stub, &Stub::ListWorkers, v1::ListWorkersRequest());
}

absl::StatusOr<v1::ListTasksResponse> SearchClient::ListTasks() {
  return Call<v1::ListTasksResponse>(*impl_->stub, &Stub::ListTasks, v1::ListTasksRequest());
}

}  // namespace fsr
