#include "client/search_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "client/request_text.h"
#include "common/status_macros.h"
#include "fsr/v1/search.grpc.pb.h"

namespace fsr {

using Stub = v1::SearchService::Stub;

struct SearchClient::Impl {
  std::unique_ptr<Stub> stub;
  Upkeep upkeep;
  bool in_upkeep = false;  // its own calls are neither repeated nor looked after

  bool kept() const { return upkeep.restore != nullptr && !in_upkeep; }

  absl::Status DoUpkeep(const std::function<absl::Status()>& part) {
    in_upkeep = true;
    absl::Status status = part();
    in_upkeep = false;
    return status;
  }

  // Makes the call that `attempt` makes, again after the coordinator was lost.
  absl::Status Repeat(const std::function<absl::Status()>& attempt) {
    for (int restored = 0;; ++restored) {
      absl::Status status = attempt();
      if (!absl::IsUnavailable(status) || !kept() || restored == kRestoreMax) return status;
      // A coordinator that was found may be about to end, too.
      absl::Status found = DoUpkeep(upkeep.restore);
      if (!found.ok() && !absl::IsUnavailable(found)) return found;
    }
  }

  // A coordinator that is gone is noticed by the call itself.
  absl::Status LookAfter() {
    absl::Status status = DoUpkeep(upkeep.look_after);
    return absl::IsUnavailable(status) ? absl::OkStatus() : status;
  }
};

namespace {

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
}

// One unary call: `method` is a member function of the stub.
template <typename Response, typename Method, typename Request, typename Impl>
absl::StatusOr<Response> Call(Impl& impl, Method method, const Request& request,
                              absl::Duration timeout = kCallTimeout) {
  RETURN_IF_ERROR(CheckText(request));
  Response response;
  RETURN_IF_ERROR(impl.Repeat([&] {
    grpc::ClientContext context;
    SetDeadline(context, timeout);
    return FromGrpc((impl.stub.get()->*method)(&context, request, &response));
  }));
  return response;
}

}  // namespace

SearchClient::SearchClient(const std::string& address, Upkeep upkeep) : impl_(std::make_unique<Impl>()) {
  impl_->upkeep = std::move(upkeep);
  Connect(address);
}

SearchClient::~SearchClient() = default;

void SearchClient::Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kReceivedMessageBytesMax);
  // A proxy setting of the environment is not meant for a coordinator.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  impl_->stub =
      v1::SearchService::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

absl::Status SearchClient::Reach(absl::Duration timeout) {
  absl::Status status = Call<v1::ListTasksResponse>(*impl_, &Stub::ListTasks, v1::ListTasksRequest(), timeout).status();
  // Any other trouble is a coordinator's answer.
  const bool silent = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsUnimplemented(status);
  return silent ? status : absl::OkStatus();
}

absl::StatusOr<v1::Job> SearchClient::CreateJob(const v1::CreateJobRequest& request) {
  return Call<v1::Job>(*impl_, &Stub::CreateJob, request);
}

absl::StatusOr<v1::Job> SearchClient::GetJob(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  return Call<v1::Job>(*impl_, &Stub::GetJob, request);
}

absl::StatusOr<v1::ListJobsResponse> SearchClient::ListJobs(const v1::ListJobsRequest& request) {
  return Call<v1::ListJobsResponse>(*impl_, &Stub::ListJobs, request);
}

absl::StatusOr<v1::Job> SearchClient::CancelJob(const std::string& name) {
  v1::CancelJobRequest request;
  request.set_name(name);
  return Call<v1::Job>(*impl_, &Stub::CancelJob, request);
}

absl::Status SearchClient::WatchJob(const std::string& name, uint64_t after_sequence,
                                    const std::function<bool(const v1::Event&)>& on_event) {
  v1::WatchJobRequest request;
  request.set_name(name);
  request.set_after_sequence(after_sequence);
  RETURN_IF_ERROR(CheckText(request));
  const auto watch = [&] {
    grpc::ClientContext context;
    // The pause for the upkeep: what follows goes on after the last event.
    if (impl_->kept()) SetDeadline(context, kUpkeepInterval);
    auto reader = impl_->stub->WatchJob(&context, request);
    v1::Event event;
    while (reader->Read(&event)) {
      request.set_after_sequence(event.sequence());
      if (!on_event(event)) {
        context.TryCancel();
        reader->Finish();
        return absl::OkStatus();
      }
    }
    return FromGrpc(reader->Finish());
  };
  for (;;) {
    absl::Status status = impl_->Repeat(watch);
    if (!absl::IsDeadlineExceeded(status) || !impl_->kept()) return status;
    RETURN_IF_ERROR(impl_->LookAfter());
  }
}

absl::StatusOr<v1::ListCandidatesResponse> SearchClient::ListCandidates(const std::string& job) {
  v1::ListCandidatesResponse all;
  v1::ListCandidatesRequest request;
  request.set_job(job);
  do {
    auto page = Call<v1::ListCandidatesResponse>(*impl_, &Stub::ListCandidates, request);
    if (!page.ok()) return page.status();
    request.set_page_token(page->next_page_token());
    all.mutable_candidates()->MergeFrom(page->candidates());
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<v1::Candidate> SearchClient::GetCandidate(const std::string& name) {
  v1::GetCandidateRequest request;
  request.set_name(name);
  return Call<v1::Candidate>(*impl_, &Stub::GetCandidate, request);
}

absl::StatusOr<v1::Dialogue> SearchClient::GetDialogue(const v1::GetDialogueRequest& request) {
  return Call<v1::Dialogue>(*impl_, &Stub::GetDialogue, request);
}

absl::StatusOr<v1::Candidate> SearchClient::GetBestKernel(const v1::GetBestKernelRequest& request) {
  return Call<v1::Candidate>(*impl_, &Stub::GetBestKernel, request);
}

absl::StatusOr<v1::Evaluation> SearchClient::Evaluate(const v1::EvaluateRequest& request) {
  RETURN_IF_ERROR(CheckText(request));
  v1::Evaluation response;
  RETURN_IF_ERROR(impl_->Repeat([&] {
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    grpc::Status status;
    absl::Status kept;
    void* tag = nullptr;
    bool finished = false;
    auto call = impl_->stub->AsyncEvaluate(&context, request, &queue);
    call->Finish(&response, &status, nullptr);
    const auto wait = [&] {
      return queue.AsyncNext(&tag, &finished,
                             std::chrono::system_clock::now() + absl::ToChronoSeconds(kUpkeepInterval));
    };
    while (wait() == grpc::CompletionQueue::TIMEOUT) {
      if (!kept.ok() || !impl_->kept()) continue;
      kept = impl_->LookAfter();
      if (!kept.ok()) context.TryCancel();
    }
    return kept.ok() ? FromGrpc(status) : kept;
  }));
  return response;
}

absl::StatusOr<v1::ListWorkersResponse> SearchClient::ListWorkers() {
  return Call<v1::ListWorkersResponse>(*impl_, &Stub::ListWorkers, v1::ListWorkersRequest());
}

absl::StatusOr<v1::ListTasksResponse> SearchClient::ListTasks() {
  return Call<v1::ListTasksResponse>(*impl_, &Stub::ListTasks, v1::ListTasksRequest());
}

absl::StatusOr<v1::ListLessonsResponse> SearchClient::ListLessons(const v1::ListLessonsRequest& request) {
  return Call<v1::ListLessonsResponse>(*impl_, &Stub::ListLessons, request);
}

}  // namespace fsr
