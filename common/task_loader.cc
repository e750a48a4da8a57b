#include "common/task_loader.h"

#include <map>

#include "common/files.h"
#include "common/hash.h"
#include "common/launch_plan.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "common/yaml_to_proto.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace fsr {
namespace {

constexpr char kYamlName[] = "task.yaml";
constexpr char kOracleName[] = "oracle.cu";
constexpr char kBaselineName[] = "baseline.cu";
constexpr char kTunableName[] = "tunable.cu";

template <typename Value>
std::vector<std::string> Assignments(const google::protobuf::Map<std::string, Value>& values) {
  const std::map<std::string, Value> sorted(values.begin(), values.end());
  std::vector<std::string> texts;
  for (const auto& [name, value] : sorted) texts.push_back(fmt::format("{}={}", name, value));
  return texts;
}

}  // namespace

absl::StatusOr<v1::Task> ParseTaskYaml(std::string_view yaml) {
  if (yaml.size() > kTaskYamlBytesMax) {
    return absl::InvalidArgumentError(
        fmt::format("{} has {} bytes, more than the {} allowed", kYamlName, yaml.size(), kTaskYamlBytesMax));
  }
  const auto belongs_into = [](std::string_view file) {
    return fmt::format("this text belongs into the file {} beside {}", file, kYamlName);
  };
  const std::map<std::string, std::string> elsewhere = {{"oracle_source", belongs_into(kOracleName)},
                                                        {"baseline_source", belongs_into(kBaselineName)},
                                                        {"tunable_source", belongs_into(kTunableName)}};
  v1::Task task;
  RETURN_IF_ERROR(YamlToMessage(yaml, kYamlName, elsewhere, &task));
  return task;
}

absl::StatusOr<v1::Task> LoadTask(const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(const std::string yaml, ReadFile(folder / kYamlName, kTaskYamlBytesMax));
  absl::StatusOr<v1::Task> task = ParseTaskYaml(yaml);
  if (!task.ok()) return WithContext(folder.string(), task.status());
  ASSIGN_OR_RETURN(*task->mutable_oracle_source(), ReadTextFile(folder / kOracleName, kSourceBytesMax));
  ASSIGN_OR_RETURN(*task->mutable_baseline_source(), ReadTextFile(folder / kBaselineName, kSourceBytesMax));
  absl::StatusOr<std::string> tunable = ReadTextFile(folder / kTunableName, kSourceBytesMax);
  if (tunable.ok()) {
    task->set_tunable_source(*std::move(tunable));
  } else if (!absl::IsNotFound(tunable.status())) {
    return tunable.status();
  }
  if (absl::Status status = CheckTask(*task); !status.ok()) return WithContext(folder.string(), status);
  return task;
}

std::string NameOf(const v1::Case& which) {
  if (!which.name().empty()) return which.name();
  std::vector<std::string> texts = Assignments(which.sizes());
  if (texts.empty()) texts = Assignments(which.scalars());
  return texts.empty() ? "the only case" : fmt::format("{}", fmt::join(texts, " "));
}

std::string TaskHash(const v1::Task& task) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // maps in the order of their keys
    task.SerializeToCodedStream(&coded);
  }
  return Sha256Hex(bytes);
}

}  // namespace fsr
