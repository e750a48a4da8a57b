#include "tests/server/api/api_fixture.h"

#include <catch2/catch.hpp>

#include "common/task_loader.h"

namespace fsr {

v1::Task TransposeTask() {
  auto task = LoadTask(std::filesystem::path(FSR_SOURCE_DIR) / "tasks" / "transpose");
  INFO(task.status());
  REQUIRE(task.ok());
  return *std::move(task);
}

v1::CreateJobRequest TransposeJob(const std::string& request_id) {
  v1::CreateJobRequest request;
  request.set_request_id(request_id);
  *request.mutable_task() = TransposeTask();
  request.set_device_kind("sim:h200");
  request.mutable_generator()->set_name("tune");
  request.mutable_options()->set_round_count_max(2);
  request.mutable_options()->set_candidates_per_round(3);
  return request;
}

Server::Options ServerOptions(const std::filesystem::path& database) {
  Server::Options options;
  options.database = database;
  options.prompts = std::filesystem::path(FSR_SOURCE_DIR) / "prompts";
  return options;
}

Client::Client(const std::string& address)
    : channel(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
      search(v1::SearchService::NewStub(channel)),
      work(v1::WorkerService::NewStub(channel)) {}

grpc::Status Client::GetJob(const std::string& name, v1::Job* job) {
  Context context;
  v1::GetJobRequest request;
  request.set_name(name);
  return search->GetJob(&context, request, job);
}

RemoteWorker::RemoteWorker(std::string address, std::function<v1::Evaluation(const v1::Assignment&)> evaluate)
    : client_(address), evaluate_(std::move(evaluate)), thread_([this] { Work(); }) {}

RemoteWorker::~RemoteWorker() {
  stopping_ = true;
  {
    absl::MutexLock lock(&mutex_);
    if (call_ != nullptr) call_->TryCancel();
  }
  thread_.join();
}

void RemoteWorker::Work() {
  v1::SynchronizeRequest request;
  request.set_worker_id("w1");
  request.set_boot_id("boot");
  *request.mutable_device() = SimulatedDevice();
  request.set_wanted_leases(1);
  while (true) {
    Context context;
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return;
      call_ = &context;
    }
    v1::SynchronizeResponse response;
    const grpc::Status status = client_.work->Synchronize(&context, request, &response);
    {
      absl::MutexLock lock(&mutex_);
      call_ = nullptr;
    }
    if (!status.ok()) {
      SystemClock()->Sleep(absl::Milliseconds(5));
      continue;
    }
    request.clear_leases();
    for (const v1::Assignment& assignment : response.assignments()) {
      v1::LeaseReport* report = request.add_leases();
      report->set_lease_id(assignment.lease_id());
      *report->mutable_finished() = evaluate_(assignment);
    }
  }
}

ServerFixture::ServerFixture() { Restart(); }

void ServerFixture::Restart() {
  client.reset();
  server.reset();
  auto started = Server::Start(ServerOptions(folder / "fsr.db"));
  INFO(started.status());
  REQUIRE(started.ok());
  server = *std::move(started);
  client = std::make_unique<Client>(server->address());
}

}  // namespace fsr
