// What happened, for people and their programs.
#include <absl/strings/numbers.h>
#include <fmt/format.h>

#include <algorithm>

#include "common/status_macros.h"
#include "server/store/rows.h"
#include "server/store/store.h"
#include "server/store/store_impl.h"

namespace fsr {
namespace {

constexpr uint32_t kJobsPageDefault = 50;
constexpr uint32_t kJobsPageMax = 500;
constexpr uint32_t kCandidatesPageDefault = 100;
constexpr uint32_t kCandidatesPageMax = 1000;

constexpr char kBaseline[] = "SELECT result FROM evaluations WHERE job_id = ? AND purpose = 'BASELINE'";
constexpr char kSource[] = "SELECT source FROM candidates WHERE job_id = ? AND number = ?";
constexpr char kListJobs[] = "SELECT id FROM jobs WHERE id < ? ORDER BY id DESC LIMIT ?";
constexpr char kListCandidates[] =
    "SELECT number FROM candidates WHERE job_id = ? AND number > ? ORDER BY number LIMIT ?";
constexpr char kListTasks[] = R"sql(
  SELECT t.name, COUNT(*), (SELECT description FROM task_versions v WHERE v.name = t.name ORDER BY v.id DESC LIMIT 1)
  FROM jobs j JOIN task_versions t ON t.id = j.task_version_id GROUP BY t.name ORDER BY t.name)sql";
constexpr char kDeviceKindsOfTask[] = R"sql(
  SELECT DISTINCT j.device_kind FROM jobs j JOIN task_versions t ON t.id = j.task_version_id
  WHERE t.name = ? ORDER BY j.device_kind)sql";
constexpr char kDialogue[] = R"sql(
  SELECT p.round, p.branch, p.system_text, p.user_text, p.completion, COALESCE(c.number, 0)
  FROM prompts p LEFT JOIN candidates c ON c.job_id = p.job_id AND c.prompt = p.number
  WHERE p.job_id = ? AND (? = 0 OR p.dialogue = ?) ORDER BY p.number)sql";
// Two versions of a task may measure different sizes: only the newest one with a right kernel counts. An estimate never
// wins over a measurement.
constexpr char kBestKernel[] = R"sql(
  SELECT e.job_id, e.candidate FROM evaluations e JOIN task_versions t ON t.id = e.task_version_id
  WHERE t.name = ? AND e.purpose = 'CANDIDATE' AND e.outcome = 'MEASURED' AND e.latency_us IS NOT NULL
    AND (? = '' OR e.measured_on = ? OR e.device_kind = ?)
  ORDER BY t.id DESC, e.estimated, e.latency_us, e.id LIMIT 1)sql";
constexpr char kEvents[] = "SELECT content FROM events WHERE job_id = ? AND sequence > ? ORDER BY sequence LIMIT ?";

int PageSize(uint32_t asked, uint32_t standard, uint32_t most) {
  return static_cast<int>(std::min(asked == 0 ? standard : asked, most));
}

// A page token is the number of the last entry of the page before.
absl::StatusOr<int64_t> ParsePageToken(const std::string& token, int64_t first) {
  if (token.empty()) return first;
  int64_t number = 0;
  if (absl::SimpleAtoi(token, &number) && number > 0) return number;
  return absl::InvalidArgumentError(fmt::format(
      "page_token \"{}\" is none that was given out: leave it empty to begin, then pass next_page_token on", token));
}

// Fills a page from `numbers` (one more than fits, if there are more) by `add`, which answers the bytes it added. The
// token for the next page; empty if this was the last.
template <typename Add>
absl::StatusOr<std::string> FillPage(const std::vector<int64_t>& numbers, int page_size, const Add& add) {
  size_t bytes = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i == static_cast<size_t>(page_size) || bytes > kPageBytesMax) return std::to_string(numbers[i - 1]);
    ASSIGN_OR_RETURN(size_t added, add(numbers[i]));
    bytes += added;
  }
  return std::string();
}

std::vector<int64_t> ReadNumbers(SQLite::Statement query) {
  std::vector<int64_t> numbers;
  while (query.executeStep()) numbers.push_back(query.getColumn(0).getInt64());
  return numbers;
}

struct NumberedName {
  std::string job;
  int number = 0;
};
// "jobs/transpose-7/candidates/3" for the collection "candidates".
absl::StatusOr<NumberedName> ParseName(const std::string& name, const std::string& collection) {
  const std::string separator = "/" + collection + "/";
  const size_t at = name.rfind(separator);
  NumberedName parsed;
  if (at != std::string::npos && absl::SimpleAtoi(name.substr(at + separator.size()), &parsed.number) &&
      parsed.number > 0) {
    parsed.job = name.substr(0, at);
    return parsed;
  }
  return absl::InvalidArgumentError(
      fmt::format("\"{}\" is no name of this kind: write it like jobs/transpose-7{}3", name, separator));
}

void AddMessage(v1::Dialogue* dialogue, v1::Message::Role role, const std::string& text, uint32_t round) {
  v1::Message* message = dialogue->add_messages();
  message->set_role(role);
  message->set_text(text);
  message->set_round(round);
}

void AddMessages(SQLite::Statement prompts, v1::Dialogue* dialogue) {
  std::string last_system_text;
  while (prompts.executeStep()) {
    const uint32_t round = prompts.getColumn(0).getUInt();
    const std::string system_text = prompts.getColumn(2).getString();
    if (system_text != last_system_text) AddMessage(dialogue, v1::Message::SYSTEM, system_text, round);
    last_system_text = system_text;
    AddMessage(dialogue, v1::Message::USER, prompts.getColumn(3).getString(), round);
    v1::Branch branch = v1::BRANCH_UNSPECIFIED;
    v1::Branch_Parse(prompts.getColumn(1).getString(), &branch);
    dialogue->mutable_messages()->rbegin()->set_branch(branch);
    if (prompts.isColumnNull(4)) continue;
    AddMessage(dialogue, v1::Message::ASSISTANT, prompts.getColumn(4).getString(), round);
    if (const int candidate = ToInt(prompts.getColumn(5)); candidate != 0) {
      dialogue->mutable_messages()->rbegin()->set_candidate(CandidateName(dialogue->job(), candidate));
    }
  }
}

}  // namespace

absl::StatusOr<v1::Job> Store::GetJob(const std::string& name) {
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<v1::Job> {
    ASSIGN_OR_RETURN(JobId id, FindJobRow(database, name));
    ASSIGN_OR_RETURN(JobRow row, ReadJob(database, id));
    SQLite::Statement baseline = Prepare(database, kBaseline, id);
    if (baseline.executeStep() && !baseline.isColumnNull(0)) {
      ASSIGN_OR_RETURN(*row.job.mutable_baseline(), ParseColumn<v1::Evaluation>(baseline.getColumn(0)));
    }
    SQLite::Statement source = Prepare(database, kSource, id, row.best_candidate);
    if (source.executeStep()) row.job.set_best_source(source.getColumn(0).getString());
    return Shown(std::move(row.job));
  });
}

absl::StatusOr<v1::ListJobsResponse> Store::ListJobs(const v1::ListJobsRequest& request) {
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<v1::ListJobsResponse> {
    ASSIGN_OR_RETURN(int64_t before, ParsePageToken(request.page_token(), INT64_MAX));
    const int page_size = PageSize(request.page_size(), kJobsPageDefault, kJobsPageMax);
    v1::ListJobsResponse response;
    ASSIGN_OR_RETURN(*response.mutable_next_page_token(),
                     FillPage(ReadNumbers(Prepare(database, kListJobs, before, page_size + 1)), page_size,
                              [&](JobId id) -> absl::StatusOr<size_t> {
                                ASSIGN_OR_RETURN(JobRow row, ReadJob(database, id));
                                v1::Job* job = response.add_jobs();
                                *job = Shown(std::move(row.job));
                                return job->ByteSizeLong();
                              }));
    return response;
  });
}

absl::StatusOr<v1::ListTasksResponse> Store::ListTasks() {
  return impl_->Read([](SQLite::Database& database) -> absl::StatusOr<v1::ListTasksResponse> {
    v1::ListTasksResponse response;
    SQLite::Statement tasks(database, kListTasks);
    while (tasks.executeStep()) {
      auto* entry = response.add_tasks();
      entry->set_name(tasks.getColumn(0).getString());
      entry->set_job_count(tasks.getColumn(1).getUInt());
      entry->set_description(tasks.getColumn(2).getString());
      SQLite::Statement kinds = Prepare(database, kDeviceKindsOfTask, entry->name());
      while (kinds.executeStep()) entry->add_device_kinds(kinds.getColumn(0).getString());
    }
    return response;
  });
}

absl::StatusOr<v1::ListCandidatesResponse> Store::ListCandidates(const v1::ListCandidatesRequest& request) {
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<v1::ListCandidatesResponse> {
    ASSIGN_OR_RETURN(JobId id, FindJobRow(database, request.job()));
    ASSIGN_OR_RETURN(JobRow row, ReadJob(database, id));
    ASSIGN_OR_RETURN(int64_t after, ParsePageToken(request.page_token(), 0));
    const int page_size = PageSize(request.page_size(), kCandidatesPageDefault, kCandidatesPageMax);
    v1::ListCandidatesResponse response;
    ASSIGN_OR_RETURN(*response.mutable_next_page_token(),
                     FillPage(ReadNumbers(Prepare(database, kListCandidates, id, after, page_size + 1)), page_size,
                              [&](int64_t number) -> absl::StatusOr<size_t> {
                                v1::Candidate* candidate = response.add_candidates();
                                ASSIGN_OR_RETURN(*candidate, ReadCandidate(database, row.job, id,
                                                                           static_cast<int>(number), WithSource::kNo));
                                return candidate->ByteSizeLong();
                              }));
    return response;
  });
}

absl::StatusOr<v1::Candidate> Store::GetCandidate(const std::string& name) {
  ASSIGN_OR_RETURN(const NumberedName parsed, ParseName(name, "candidates"));
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<v1::Candidate> {
    ASSIGN_OR_RETURN(JobId id, FindJobRow(database, parsed.job));
    ASSIGN_OR_RETURN(JobRow row, ReadJob(database, id));
    return ReadCandidate(database, row.job, id, parsed.number, WithSource::kYes);
  });
}

absl::StatusOr<v1::Dialogue> Store::GetDialogue(const v1::GetDialogueRequest& request) {
  NumberedName parsed{request.job(), 0};
  if (!request.name().empty()) {
    ASSIGN_OR_RETURN(parsed, ParseName(request.name(), "dialogues"));
    if (!request.job().empty() && request.job() != parsed.job) {
      return absl::InvalidArgumentError(fmt::format("{} is no dialogue of {}", request.name(), request.job()));
    }
  }
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<v1::Dialogue> {
    ASSIGN_OR_RETURN(JobId id, FindJobRow(database, parsed.job));
    v1::Dialogue dialogue;
    dialogue.set_name(request.name());
    dialogue.set_job(parsed.job);
    AddMessages(Prepare(database, kDialogue, id, parsed.number, parsed.number), &dialogue);
    if (parsed.number != 0 && dialogue.messages().empty()) {
      return absl::NotFoundError(fmt::format("{} has no dialogue {}", parsed.job, parsed.number));
    }
    return dialogue;
  });
}

absl::StatusOr<v1::Candidate> Store::GetBestKernel(const v1::GetBestKernelRequest& request) {
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<v1::Candidate> {
    const std::string& kind = request.device_kind();
    SQLite::Statement query = Prepare(database, kBestKernel, request.task(), kind, kind, kind);
    if (!query.executeStep()) {
      return absl::NotFoundError(
          fmt::format("no right kernel for the task \"{}\"{} has been found yet: `fsr submit` "
                      "starts a search, `fsr jobs` lists those there are",
                      request.task(), kind.empty() ? "" : " on " + kind));
    }
    const JobId id = query.getColumn(0).getInt64();
    ASSIGN_OR_RETURN(JobRow row, ReadJob(database, id));
    return ReadCandidate(database, row.job, id, ToInt(query.getColumn(1)), WithSource::kYes);
  });
}

absl::StatusOr<std::vector<v1::Event>> Store::EventsAfter(JobId job, uint64_t after_sequence, int count_max) {
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<std::vector<v1::Event>> {
    std::vector<v1::Event> events;
    const auto after = static_cast<int64_t>(std::min<uint64_t>(after_sequence, INT64_MAX));
    SQLite::Statement query = Prepare(database, kEvents, job, after, count_max);
    while (query.executeStep()) {
      ASSIGN_OR_RETURN(events.emplace_back(), ParseColumn<v1::Event>(query.getColumn(0)));
    }
    return events;
  });
}

}  // namespace fsr
