#include "client/session.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <cstdio>

#include "common/files.h"
#include "common/status.h"
#include "common/status_macros.h"

namespace fsr {
namespace {

std::string ToJson(const google::protobuf::Message& message, bool indented) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = indented;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) return fmt::format("{{\"error\": \"{}\"}}", std::string(status.message()));
  return text;
}

}  // namespace

std::filesystem::path Session::StateFolder() const {
  return options_.state_folder.empty() ? LocalStack::DefaultStateFolder()
                                       : std::filesystem::path(options_.state_folder);
}

absl::StatusOr<SearchClient*> Session::Client() {
  if (!local()) {
    if (remote_ == nullptr) {
      remote_ = std::make_unique<SearchClient>(options_.server);
      if (absl::Status reached = remote_->Reach(absl::Seconds(10)); !reached.ok()) {
        return WithContext(fmt::format("No coordinator answers at {} (is fsrd running there?)", options_.server),
                           reached);
      }
    }
    return remote_.get();
  }
  if (stack_ == nullptr) {
    ASSIGN_OR_RETURN(stack_, LocalStack::Open({.state_folder = StateFolder()}));
  }
  return &stack_->client();
}

absl::StatusOr<std::string> Session::DeviceKind(const std::string& device) {
  RETURN_IF_ERROR(Client().status());
  if (!local()) return device;
  ASSIGN_OR_RETURN(v1::DeviceFacts facts, stack_->EnsureWorker(device));
  return facts.kind();
}

void PrintJson(const google::protobuf::Message& message) { fmt::print("{}\n", ToJson(message, true)); }

void PrintJsonLine(const google::protobuf::Message& message) {
  fmt::print("{}\n", ToJson(message, false));
  std::fflush(stdout);
}

absl::StatusOr<std::filesystem::path> FindTaskFolder(const std::string& name_or_path) {
  std::vector<std::filesystem::path> tried = {name_or_path};
  if (auto data = DataFolder(); data.ok() && tried[0].is_relative()) {
    tried.push_back(*data / name_or_path);
    tried.push_back(*data / "tasks" / name_or_path);
  }
  std::string names;
  for (const auto& folder : tried) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(folder / "task.yaml", ignored)) return folder;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", (folder / "task.yaml").string());
  }
  return absl::NotFoundError(
      fmt::format("There is no task '{}': tried {}. `fsr tasks` lists those there are, `fsr task new NAME` makes one.",
                  name_or_path, names));
}

std::string FullJobName(const std::string& name) { return name.rfind("jobs/", 0) == 0 ? name : "jobs/" + name; }

std::string FullCandidateName(const std::string& name) {
  if (name.find("/candidates/") != std::string::npos) return FullJobName(name);
  const std::string full = FullJobName(name);
  const size_t slash = full.rfind('/');
  if (slash <= 4) return full;
  return full.substr(0, slash) + "/candidates" + full.substr(slash);
}

int ReportTrouble(const absl::Status& status) {
  // Not fmt::print, which throws if nothing can be written.
  std::fputs(fmt::format("fsr: {} ({})\n", MessageOf(status), absl::StatusCodeToString(status.code())).c_str(), stderr);
  return kExitTrouble;
}

}  // namespace fsr
