// run, submit, watch: hand a job in and follow it to its end.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "client/commands.h"
#include "client/progress.h"
#include "client/render.h"
#include "common/files.h"
#include "common/launch_plan.h"
#include "common/random.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "common/task_loader.h"

namespace fsr {
namespace {

constexpr size_t kRecordingBytesMax = 16 << 20;

// Replaced templates travel with the job, so that a coordinator elsewhere uses them, too.
absl::Status AddPromptTemplates(const std::string& folder, v1::CreateJobRequest& request) {
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    const std::filesystem::path name = entry.path().lexically_relative(folder);
    if (name.extension() != ".mustache" && !(name.parent_path() == "arch" && name.extension() == ".md")) continue;
    ASSIGN_OR_RETURN((*request.mutable_prompt_templates())[name.generic_string()],
                     ReadTextFile(entry.path(), kSourceBytesMax));
  }
  if (error)
    return absl::NotFoundError(fmt::format("The prompts folder {} cannot be read: {}.", folder, error.message()));
  if (request.prompt_templates().empty()) {
    return absl::NotFoundError(
        fmt::format("The prompts folder {} holds no *.mustache file, and no arch/*.md.", folder));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::CreateJobRequest> MakeRequest(Session& session, const JobRequestOptions& options) {
  v1::CreateJobRequest request;
  ASSIGN_OR_RETURN(std::filesystem::path folder, FindTaskFolder(options.task));
  ASSIGN_OR_RETURN(*request.mutable_task(), LoadTask(folder));
  request.mutable_generator()->set_name(options.model);
  if (options.model == "replay") {
    const std::filesystem::path file =
        options.recording.empty() ? folder / "recording.json" : std::filesystem::path(options.recording);
    auto recording = ReadTextFile(file, kRecordingBytesMax);
    if (!recording.ok())
      return WithContext("The replay generator needs a recording (--recording FILE)", recording.status());
    (*request.mutable_generator()->mutable_options())["recording"] = *recording;
  }
  if (!session.options().prompts_folder.empty()) {
    RETURN_IF_ERROR(AddPromptTemplates(session.options().prompts_folder, request));
  }
  request.set_request_id(options.request_id.empty() ? RandomHex(16) : options.request_id);
  *request.mutable_options() = options.options;
  ASSIGN_OR_RETURN(*request.mutable_device_kind(), session.DeviceKind(options.device));
  return request;
}

absl::StatusOr<v1::Job> Submit(Session& session, const JobRequestOptions& options) {
  ASSIGN_OR_RETURN(v1::CreateJobRequest request, MakeRequest(session, options));
  ASSIGN_OR_RETURN(SearchClient * client, session.Client());
  return client->CreateJob(request);
}

absl::StatusOr<v1::Job> Follow(Session& session, const std::string& name, uint64_t after_sequence,
                               const std::function<void(const v1::Event&)>& on_event) {
  ASSIGN_OR_RETURN(SearchClient * client, session.Client());
  RETURN_IF_ERROR(client->WatchJob(name, after_sequence, [&](const v1::Event& event) {
    on_event(event);
    return true;
  }));
  return client->GetJob(name);
}

absl::StatusOr<std::string> SaveBest(Session& session, const v1::Job& job, const std::string& output) {
  std::filesystem::path path = output;
  if (output.empty()) path = session.StateFolder() / "kernels" / (job.name().substr(job.name().find('/') + 1) + ".cu");
  RETURN_IF_ERROR(WriteFileAtomically(path, job.best_source()));
  return path.string();
}

int ExitOf(const v1::Job& job) {
  if (job.state() == v1::Job::FAILED) return kExitTrouble;
  return job.best_candidate().empty() ? kExitNegative : kExitOk;
}

// What a person wants to know at the end. `task` is how the command line calls it.
int ReportEnd(Session& session, const v1::Job& job, const std::string& task, const std::string& output) {
  std::string saved;
  if (!job.best_candidate().empty()) {
    auto path = SaveBest(session, job, output);
    if (!path.ok()) return ReportTrouble(path.status());
    saved = *path;
  }
  if (session.json()) {
    PrintJson(job);
    return ExitOf(job);
  }
  fmt::print("\n{}", RenderJob(job));
  const std::string short_name = job.name().substr(job.name().find('/') + 1);
  if (!job.best_candidate().empty()) {
    const size_t slash = job.best_candidate().rfind('/');
    fmt::print("\n{}\nsaved in {}\n\nread on:\n", job.best_source(), saved);
    fmt::print("  fsr candidate {}{} --diff   what the best one changed\n", short_name,
               job.best_candidate().substr(slash));
    fmt::print("  fsr evaluate {} {}   judge and measure it again\n", task.empty() ? job.task() : task, saved);
  } else {
    fmt::print("\nread on:\n");
  }
  fmt::print("  fsr candidates {}   every candidate and what came of it\n", short_name);
  fmt::print("  fsr dialogue {}   what was asked and answered\n", short_name);
  return ExitOf(job);
}

int FollowAndReport(Session& session, const std::string& name, uint64_t after_sequence, const std::string& task,
                    const std::string& output, bool json_events) {
  Progress progress(stdout, !session.json() && isatty(STDOUT_FILENO) != 0);
  auto job = Follow(session, name, after_sequence, [&](const v1::Event& event) {
    if (json_events) {
      PrintJsonLine(event);
    } else if (!session.json()) {
      progress.Show(event);
    }
  });
  progress.ClearStatus();
  if (!job.ok()) return ReportTrouble(job.status());
  if (json_events) return ExitOf(*job);
  return ReportEnd(session, *job, task, output);
}

// A worker of this machine for what is left of `job`.
absl::Status ReadyWorker(Session& session, const v1::Job& job, const std::string& device) {
  const bool simulated = job.device_kind().rfind("sim:", 0) == 0;
  const absl::Status which =
      absl::InvalidArgumentError(fmt::format("{} is for {}: name a device of that kind, such as --device {}.",
                                             job.name(), job.device_kind(), simulated ? job.device_kind() : "cuda:0"));
  if (device.empty() && !simulated) {
    ASSIGN_OR_RETURN(SearchClient * client, session.Client());
    ASSIGN_OR_RETURN(const v1::ListWorkersResponse known, client->ListWorkers());
    // Another command's worker may be at it.
    const bool at_it = std::any_of(known.workers().begin(), known.workers().end(), [&](const v1::Worker& worker) {
      return worker.device().kind() == job.device_kind() && !worker.lost();
    });
    return at_it ? absl::OkStatus() : which;
  }
  ASSIGN_OR_RETURN(const std::string kind, session.DeviceKind(device.empty() ? job.device_kind() : device));
  return kind == job.device_kind() ? absl::OkStatus() : which;
}

}  // namespace

int RunCommand(Session& session, const JobRequestOptions& options) {
  auto job = Submit(session, options);
  if (!job.ok()) return ReportTrouble(job.status());
  if (!session.json()) {
    fmt::print("{}: {} on {} with {}, at most {} rounds of {} candidates\n", job->name(), job->task(),
               job->device_kind(), job->generator().name(), job->options().round_count_max(),
               job->options().candidates_per_round());
    std::fflush(stdout);
  }
  return FollowAndReport(session, job->name(), 0, options.task, options.output, false);
}

int SubmitCommand(Session& session, const JobRequestOptions& options) {
  auto job = Submit(session, options);
  if (!job.ok()) return ReportTrouble(job.status());
  if (session.json()) {
    PrintJson(*job);
  } else if (session.local()) {
    fmt::print("{}\nThe job is stored. Without --server nothing runs it on: `fsr watch {}` does.\n", job->name(),
               job->name());
  } else {
    fmt::print("{}\n`fsr watch {}` follows it.\n", job->name(), job->name());
  }
  return kExitOk;
}

int WatchCommand(Session& session, const std::string& job_name, const std::string& device, uint64_t after_sequence) {
  const std::string name = FullJobName(job_name);
  auto client = session.Client();
  if (!client.ok()) return ReportTrouble(client.status());
  auto job = (*client)->GetJob(name);
  if (!job.ok()) return ReportTrouble(job.status());
  const bool unfinished = job->state() == v1::Job::QUEUED || job->state() == v1::Job::RUNNING;
  if (unfinished && session.local()) {
    if (absl::Status ready = ReadyWorker(session, *job, device); !ready.ok()) return ReportTrouble(ready);
  }
  return FollowAndReport(session, name, after_sequence, "", "", session.json());
}

}  // namespace fsr
