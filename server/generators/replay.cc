#include "server/generators/replay.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/status.h"
#include "common/status_macros.h"

namespace fsr {
namespace {

class Replay : public Generator {
 public:
  explicit Replay(v1::Recording recording) : recording_(std::move(recording)) {
    auto* entries = recording_.mutable_entries();
    std::stable_sort(entries->begin(), entries->end(), [](const auto& a, const auto& b) {
      return std::pair(a.round(), a.slot()) < std::pair(b.round(), b.slot());
    });
  }

  int candidates_per_round_default() const override { return static_cast<int>(recording_.candidates_per_round()); }

  absl::Status Answer(const JobFacts& /*facts*/, const std::vector<StoredPrompt>& prompts, AnswerSink& sink) override {
    for (const StoredPrompt& prompt : prompts) {
      if (prompt.number > recording_.entries_size()) {
        return absl::OutOfRangeError(fmt::format("The recording has {} answers.", recording_.entries_size()));
      }
      const v1::Recording::Entry& entry = recording_.entries(prompt.number - 1);
      RETURN_IF_ERROR(sink.Deliver({{prompt.number, entry.answer(), entry.change()}}));
    }
    return absl::OkStatus();
  }

 private:
  v1::Recording recording_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Generator>> NewReplay(const v1::GeneratorSpec& spec, const v1::Task& task) {
  const auto option = spec.options().find("recording");
  if (option == spec.options().end() || option->second.empty()) {
    return absl::InvalidArgumentError(
        "The generator \"replay\" needs the option \"recording\": the text of a recording.json, such as the one in the "
        "task's folder.");
  }
  if (option->second.size() > kRecordingBytesMax) {
    return absl::InvalidArgumentError(
        fmt::format("The recording has {} bytes; at most {} are allowed.", option->second.size(), kRecordingBytesMax));
  }
  v1::Recording recording;
  const auto parsed = google::protobuf::util::JsonStringToMessage(option->second, &recording);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("The option \"recording\" is not a recording in JSON: {}", std::string(parsed.message())));
  }
  if (recording.task() != task.name()) {
    return absl::InvalidArgumentError(
        fmt::format("The recording is of task \"{}\"; the job's task is \"{}\".", recording.task(), task.name()));
  }
  if (recording.entries().empty()) return absl::InvalidArgumentError("The recording has no entries.");
  return std::make_unique<Replay>(std::move(recording));
}

}  // namespace fsr
