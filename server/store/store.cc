#include "server/store/store.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "common/hash.h"
#include "common/status_macros.h"
#include "server/store/store_impl.h"

namespace fsr {

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::filesystem::path& path, Clock* clock, Options options) {
  ASSIGN_OR_RETURN(auto database, Database::Open(path, options));
  return std::unique_ptr<Store>(new Store(std::make_unique<Impl>(std::move(database), clock, options)));
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

ChangeSignal& Store::changes() { return impl_->changes(); }

std::string ContentHash(const v1::CreateJobRequest& request) {
  v1::CreateJobRequest content = request;
  content.clear_request_id();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // maps in the order of their keys
    content.SerializeToCodedStream(&coded);
  }
  return Sha256Hex(bytes);
}

std::string CandidateName(const std::string& job, int number) { return fmt::format("{}/candidates/{}", job, number); }

std::string DialogueName(const std::string& job, int number) { return fmt::format("{}/dialogues/{}", job, number); }

}  // namespace fsr
