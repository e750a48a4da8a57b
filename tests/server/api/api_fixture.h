// A whole server in this process, and a client and a worker that talk to it over gRPC.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "fsr/v1/search.grpc.pb.h"
#include "fsr/v1/worker.grpc.pb.h"
#include "server/api/server.h"
#include "tests/server/store/store_fixture.h"

namespace fsr {

inline constexpr absl::Duration kTestCallTimeout = absl::Seconds(60);

v1::Task TransposeTask();  // tasks/transpose
v1::CreateJobRequest TransposeJob(const std::string& request_id = "");
Server::Options ServerOptions(const std::filesystem::path& database);

// A call's context with a deadline, so that a test that fails does not hang.
struct Context : grpc::ClientContext {
  Context() { set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(kTestCallTimeout)); }
};

// The stubs of one server.
struct Client {
  explicit Client(const std::string& address);
  grpc::Status GetJob(const std::string& name, v1::Job* job);
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::SearchService::Stub> search;
  std::unique_ptr<v1::WorkerService::Stub> work;
};

// A worker that answers every evaluation with what `evaluate` says, until it is destroyed.
class RemoteWorker {
 public:
  RemoteWorker(std::string address, std::function<v1::Evaluation(const v1::Assignment&)> evaluate);
  ~RemoteWorker();
  RemoteWorker(const RemoteWorker&) = delete;  // owns a thread
  RemoteWorker& operator=(const RemoteWorker&) = delete;

 private:
  void Work();
  Client client_;
  std::function<v1::Evaluation(const v1::Assignment&)> evaluate_;
  std::atomic<bool> stopping_ = false;
  absl::Mutex mutex_;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;  // so that a long poll can be broken off
  std::thread thread_;
};

struct ServerFixture {
  ServerFixture();
  void Restart();  // over the same database
  TemporaryFolder folder;
  std::unique_ptr<Server> server;
  std::unique_ptr<Client> client;
};

}  // namespace fsr
