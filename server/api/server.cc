#include "server/api/server.h"

#include <fmt/format.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <mutex>

#include "common/status.h"
#include "common/status_macros.h"
#include "server/api/file_lock.h"
#include "server/api/limits.h"
#include "server/api/listen_address.h"
#include "server/api/search_service.h"
#include "server/api/worker_service.h"
#include "server/prompts/prompts.h"

namespace fsr {
namespace {

absl::Status CheckExposure(const ListenAddress& address, Exposure exposure) {
  if (address.reach == Reach::kLoopback || exposure == Exposure::kInsecureNetwork) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{} can be reached from the network, and without TLS anybody there could hand in jobs and read them: "
                  "listen on 127.0.0.1, or say --insecure-listen if the network is trusted",
                  address.WithPort(address.port)));
}

int Milliseconds(absl::Duration duration) { return static_cast<int>(absl::ToInt64Milliseconds(duration)); }

void UseGrpcPlugins() {
  static std::once_flag once;  // they register themselves for the whole process
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

}  // namespace

class Server::Impl {
 public:
  ~Impl() { Stop(); }

  absl::Status Start(const Options& options) {
    ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(options.listen));
    RETURN_IF_ERROR(CheckExposure(address, options.exposure));
    RETURN_IF_ERROR(OpenStore(options));
    ASSIGN_OR_RETURN(dispatcher_, Dispatcher::Create(store_.get(), options.clock, options.dispatch));
    Coordinator::Options search;
    ASSIGN_OR_RETURN(search.templates, LoadPromptTemplates(options.prompts));
    coordinator_ = std::make_unique<Coordinator>(store_.get(), options.clock, std::move(search));
    search_service_ =
        std::make_unique<SearchServiceImpl>(store_.get(), coordinator_.get(), dispatcher_.get(), options.clock);
    worker_service_ = std::make_unique<WorkerServiceImpl>(dispatcher_.get());
    RETURN_IF_ERROR(Listen(address));
    coordinator_->Start();  // last: nothing can fail any more
    return absl::OkStatus();
  }

  void Stop() {
    if (grpc_ != nullptr) {
      dispatcher_->Stop();
      search_service_->Stop();
      grpc_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(kStopGrace));
      grpc_->Wait();
      grpc_.reset();
    }
    if (coordinator_ != nullptr) coordinator_->Stop();
  }

  const std::string& address() const { return address_; }

 private:
  absl::Status OpenStore(const Options& options) {
    // One lock by whatever name the database is called.
    std::error_code ignored;
    const std::filesystem::path database = std::filesystem::weakly_canonical(options.database, ignored);
    auto lock = FileLock::Take((database.empty() ? options.database : database).string() + ".lock");
    if (!lock.ok()) {
      return WithContext(fmt::format("the database {} cannot be used by a second server", options.database.string()),
                         lock.status());
    }
    lock_ = *std::move(lock);
    ASSIGN_OR_RETURN(store_, Store::Open(options.database, options.clock));
    return store_->CancelAllSingle();
  }

  absl::Status Listen(const ListenAddress& address) {
    UseGrpcPlugins();
    // gRPC says no more than that it failed; this says why.
    RETURN_IF_ERROR(TryListening(address));
    grpc::ResourceQuota quota("fsrd");
    quota.SetMaxThreads(kThreadsMax);
    int port = 0;
    grpc::ServerBuilder builder;
    builder.SetResourceQuota(quota);
    builder.SetMaxReceiveMessageSize(kRequestBytesMax);
    builder.SetMaxSendMessageSize(kResponseBytesMax);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server must not share the port silently
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(kKeepaliveInterval));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kKeepaliveTimeout));
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               Milliseconds(kClientPingIntervalMin));
    builder.AddListeningPort(address.WithPort(address.port), grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(search_service_.get());
    builder.RegisterService(worker_service_.get());
    grpc_ = builder.BuildAndStart();
    if (grpc_ == nullptr || port == 0) {
      grpc_.reset();
      return absl::UnavailableError(fmt::format("cannot listen on {}: try again", address.WithPort(address.port)));
    }
    address_ = address.WithPort(port);
    return absl::OkStatus();
  }

  // In the order of their dependencies: what comes later uses what comes before, and ends first.
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<SearchServiceImpl> search_service_;
  std::unique_ptr<WorkerServiceImpl> worker_service_;
  std::unique_ptr<grpc::Server> grpc_;
  std::string address_;
};

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Options& options) {
  auto impl = std::make_unique<Impl>();
  RETURN_IF_ERROR(impl->Start(options));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
const std::string& Server::address() const { return impl_->address(); }
void Server::Stop() { impl_->Stop(); }

}  // namespace fsr
