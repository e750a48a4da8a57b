// best, candidates, candidate, dialogue: read what a job found.
#include <fmt/format.h>

#include "client/commands.h"
#include "client/render.h"
#include "common/files.h"
#include "common/random.h"
#include "common/status.h"
#include "common/status_macros.h"
#include "common/subprocess.h"

namespace fsr {
namespace {

constexpr absl::Duration kDiffTimeout = absl::Seconds(10);
constexpr size_t kDiffBytesMax = 16 << 20;

// The unified difference, by diff(1).
absl::StatusOr<std::string> Diff(const std::string& before_name, const std::string& before,
                                 const std::string& after_name, const std::string& after) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("fsr-diff-" + RandomHex(8));
  auto run = [&]() -> absl::StatusOr<std::string> {
    RETURN_IF_ERROR(WriteFileAtomically(folder / "before.cu", before));
    RETURN_IF_ERROR(WriteFileAtomically(folder / "after.cu", after));
    ASSIGN_OR_RETURN(auto diff,
                     Subprocess::Start({.argv = {"diff", "-u", "--label", before_name, "--label", after_name,
                                                 (folder / "before.cu").string(), (folder / "after.cu").string()},
                                        .stdout_path = (folder / "diff").string()}));
    auto ended = diff->Wait(kDiffTimeout);
    if (!ended || ended->signal != 0 || ended->code > 1) {
      return absl::InternalError(fmt::format("diff {}", ended ? ended->Describe() : "did not end"));
    }
    return ReadFile(folder / "diff", kDiffBytesMax);
  };
  absl::StatusOr<std::string> text = run();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return text;
}

int PrintDiff(SearchClient& client, const v1::Candidate& candidate) {
  if (candidate.parent().empty()) {
    fmt::print("{} has no parent: it answered the task's own prompt.\n\n{}", candidate.name(), candidate.source());
    return kExitOk;
  }
  auto parent = client.GetCandidate(candidate.parent());
  if (!parent.ok()) return ReportTrouble(parent.status());
  auto text = Diff(parent->name(), parent->source(), candidate.name(), candidate.source());
  if (!text.ok()) return ReportTrouble(text.status());
  fmt::print("{}", text->empty() ? "no difference to its parent\n" : *text);
  return kExitOk;
}

}  // namespace

int BestCommand(Session& session, const std::string& task, const std::string& device_kind, const std::string& output) {
  auto client = session.Client();
  if (!client.ok()) return ReportTrouble(client.status());
  v1::GetBestKernelRequest request;
  // "tasks/transpose" is what other commands take: the name is its last part.
  request.set_task(std::filesystem::path(task).lexically_normal().filename().string());
  request.set_device_kind(device_kind);
  auto best = (*client)->GetBestKernel(request);
  if (!best.ok()) {
    const int code = ReportTrouble(best.status());
    return best.status().code() == absl::StatusCode::kNotFound ? kExitNegative : code;
  }
  if (!output.empty()) {
    if (absl::Status written = WriteFileAtomically(output, best->source()); !written.ok())
      return ReportTrouble(written);
  }
  if (session.json()) {
    PrintJson(*best);
  } else if (output.empty()) {
    fmt::print("{}", RenderCandidate(*best));
  } else {
    fmt::print("{} in {}\n", best->name(), output);
  }
  return kExitOk;
}

int CandidatesCommand(Session& session, const std::string& job) {
  auto client = session.Client();
  if (!client.ok()) return ReportTrouble(client.status());
  auto answer = (*client)->ListCandidates(FullJobName(job));
  if (!answer.ok()) return ReportTrouble(answer.status());
  if (session.json()) {
    PrintJson(*answer);
    return kExitOk;
  }
  for (const v1::Candidate& candidate : answer->candidates()) fmt::print("{}\n", RenderCandidateLine(candidate));
  if (answer->candidates().empty()) fmt::print("no candidates yet\n");
  return kExitOk;
}

int CandidateCommand(Session& session, const std::string& name, bool diff) {
  auto client = session.Client();
  if (!client.ok()) return ReportTrouble(client.status());
  auto candidate = (*client)->GetCandidate(FullCandidateName(name));
  if (!candidate.ok()) return ReportTrouble(candidate.status());
  if (session.json()) {
    PrintJson(*candidate);
    return kExitOk;
  }
  if (diff) return PrintDiff(**client, *candidate);
  fmt::print("{}", RenderCandidate(*candidate));
  return kExitOk;
}

int DialogueCommand(Session& session, const std::string& job, const std::string& dialogue) {
  auto client = session.Client();
  if (!client.ok()) return ReportTrouble(client.status());
  v1::GetDialogueRequest request;
  request.set_job(FullJobName(job));
  if (!dialogue.empty()) {
    request.set_name(dialogue.find('/') == std::string::npos ? FullJobName(job) + "/dialogues/" + dialogue
                                                             : FullJobName(dialogue));
  }
  auto answer = (*client)->GetDialogue(request);
  if (!answer.ok()) return ReportTrouble(answer.status());
  if (session.json()) {
    PrintJson(*answer);
  } else {
    fmt::print("{}", RenderDialogue(*answer));
  }
  return kExitOk;
}

}  // namespace fsr
