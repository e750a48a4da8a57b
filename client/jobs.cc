// jobs, job, cancel, workers, lessons.
#include <fmt/format.h>

#include "client/commands.h"
#include "client/render.h"

namespace fsr {
namespace {

constexpr int kJobsPageMax = 500;

// Runs `call` on the client and prints its answer.
template <typename Call, typename Render>
int Print(Session& session, const Call& call, const Render& render) {
  auto client = session.Client();
  if (!client.ok()) return ReportTrouble(client.status());
  auto answer = call(**client);
  if (!answer.ok()) return ReportTrouble(answer.status());
  if (session.json()) {
    PrintJson(*answer);
  } else {
    fmt::print("{}", render(*answer));
  }
  return kExitOk;
}

}  // namespace

int JobsCommand(Session& session, int count_max) {
  return Print(
      session,
      [&](SearchClient& client) {
        v1::ListJobsRequest request;
        request.set_page_size(static_cast<uint32_t>(std::min(count_max, kJobsPageMax)));
        return client.ListJobs(request);
      },
      [](const v1::ListJobsResponse& answer) {
        std::string text;
        for (const v1::Job& job : answer.jobs()) text += RenderJobLine(job) + "\n";
        if (text.empty()) text = "no jobs yet: `fsr run tasks/transpose` makes one\n";
        return text;
      });
}

int JobCommand(Session& session, const std::string& job) {
  return Print(
      session, [&](SearchClient& client) { return client.GetJob(FullJobName(job)); }, RenderJob);
}

int CancelCommand(Session& session, const std::string& job) {
  return Print(
      session, [&](SearchClient& client) { return client.CancelJob(FullJobName(job)); },
      [](const v1::Job& cancelled) {
        return fmt::format("{} is cancelled; what it found stays.\n", cancelled.name());
      });
}

int LessonsCommand(Session& session, const v1::ListLessonsRequest& request) {
  return Print(
      session, [&](SearchClient& client) { return client.ListLessons(request); }, RenderLessons);
}

int WorkersCommand(Session& session) {
  return Print(
      session, [](SearchClient& client) { return client.ListWorkers(); }, RenderWorkers);
}

}  // namespace fsr
