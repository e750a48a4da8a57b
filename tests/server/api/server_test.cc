#include "server/api/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <catch2/catch.hpp>

#include "common/status.h"
#include "server/api/limits.h"
#include "tests/server/api/api_fixture.h"

namespace fsr {
namespace {

// A call of any unary method with raw bytes.
grpc::Status CallRaw(Client& client, const std::string& method, const std::string& request, std::string* answer) {
  grpc::GenericStub stub(client.channel);
  Context context;
  grpc::CompletionQueue queue;
  const grpc::Slice slice(request);
  const grpc::ByteBuffer request_buffer(&slice, 1);
  grpc::ByteBuffer response;
  grpc::Status status;
  auto call = stub.PrepareUnaryCall(&context, method, request_buffer, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  grpc::Slice whole;
  if (status.ok() && response.DumpToSingleSlice(&whole).ok()) {
    answer->assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
  }
  return status;
}

}  // namespace

TEST_CASE("the standard health service says that the server serves") {
  ServerFixture fixture;
  std::string answer;
  REQUIRE(CallRaw(*fixture.client, "/grpc.health.v1.Health/Check", "", &answer).ok());
  CHECK(answer == std::string("\x08\x01", 2));  // HealthCheckResponse{status: SERVING}
}

TEST_CASE("reflection is on") {
  ServerFixture fixture;
  std::string answer;
  // ServerReflectionRequest{list_services: "*"} and the end of the stream: the answer names the services.
  REQUIRE(CallRaw(*fixture.client, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                  std::string("\x3a\x01*", 3), &answer)
              .ok());
  CHECK_THAT(answer, Catch::Contains("fsr.v1.SearchService") && Catch::Contains("fsr.v1.WorkerService"));
}

TEST_CASE("a second server on the same database is refused, and says who holds it") {
  ServerFixture fixture;
  const absl::Status refused = Server::Start(ServerOptions(fixture.folder / "fsr.db")).status();
  CHECK(refused.code() == absl::StatusCode::kAlreadyExists);
  CHECK_THAT(MessageOf(refused), Catch::Contains("second server") && Catch::Contains(std::to_string(getpid())));
  std::filesystem::create_symlink(fixture.folder / "fsr.db", fixture.folder / "other_name.db");
  CHECK(Server::Start(ServerOptions(fixture.folder / "other_name.db")).status().code() ==
        absl::StatusCode::kAlreadyExists);
}

TEST_CASE("a single evaluation of a server that was killed is not handed out by the next one") {
  TemporaryFolder folder;
  {
    auto store = Store::Open(folder / "fsr.db", SystemClock()).value();
    v1::EvaluationSpec spec = SomeSpec("one file");
    *spec.mutable_task() = SomeTask();
    REQUIRE(store->EnqueueSingle(spec, "sim:h200").ok());
  }
  REQUIRE(Server::Start(ServerOptions(folder / "fsr.db")).ok());
  auto store = Store::Open(folder / "fsr.db", SystemClock()).value();
  CHECK(store->Lease(SimulatedDevice(), "w", "b", "l").value() == std::nullopt);
}

TEST_CASE("a port in use is refused") {
  ServerFixture fixture;
  TemporaryFolder other;
  Server::Options options = ServerOptions(other / "fsr.db");
  options.listen = fixture.server->address();
  const absl::Status refused = Server::Start(options).status();
  CHECK(refused.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(refused), Catch::Contains("is in use"));
}

TEST_CASE("an address that the network reaches is refused unless asked for by name") {
  TemporaryFolder folder;
  Server::Options options = ServerOptions(folder / "fsr.db");
  options.listen = "0.0.0.0:0";
  const absl::Status refused = Server::Start(options).status();
  CHECK(refused.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(refused), Catch::Contains("--insecure-listen"));
  CHECK_FALSE(std::filesystem::exists(folder / "fsr.db"));
}

TEST_CASE("a missing folder of prompts is named") {
  TemporaryFolder folder;
  Server::Options options = ServerOptions(folder / "fsr.db");
  options.prompts = folder / "nothing";
  const absl::Status refused = Server::Start(options).status();
  CHECK_FALSE(refused.ok());
  CHECK_THAT(MessageOf(refused), Catch::Contains((folder / "nothing").string()));
}

TEST_CASE("a request larger than the limit is refused, and one just below it is read") {
  ServerFixture fixture;
  v1::Job job;
  v1::GetJobRequest request;
  request.set_name(std::string(kRequestBytesMax, 'x'));
  Context large;
  CHECK(fixture.client->search->GetJob(&large, request, &job).error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  v1::CreateJobRequest create = TransposeJob();
  (*create.mutable_generator()->mutable_options())["unknown"] = std::string(kRequestBytesMax - (1 << 20), 'x');
  Context below;
  CHECK(fixture.client->search->CreateJob(&below, create, &job).error_code() == grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("stopping ends a worker's long poll at once, and stopping twice is harmless") {
  ServerFixture fixture;
  grpc::Status status;
  std::thread worker([&] {
    Context context;
    v1::SynchronizeRequest request;
    request.set_worker_id("w");
    request.set_boot_id("b");
    *request.mutable_device() = SimulatedDevice();
    request.set_wanted_leases(1);
    v1::SynchronizeResponse response;
    status = fixture.client->work->Synchronize(&context, request, &response);
  });
  SystemClock()->Sleep(absl::Milliseconds(100));
  const absl::Time begun = SystemClock()->Now();
  fixture.server->Stop();
  worker.join();
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(SystemClock()->Now() - begun < absl::Seconds(10));
  fixture.server->Stop();
}

}  // namespace fsr
