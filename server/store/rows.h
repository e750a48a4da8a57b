// What several methods of the store read and write within their transactions. All of it may throw SQLite::Exception:
// for use inside of Database::Read and Write only.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/database.h"
#include "server/store/store.h"

namespace fsr {

bool HasEnded(v1::Job::State state);

struct JobRow {
  v1::Job job;  // as in the API; best_candidate set, best_source and baseline not; generator in full
  JobId id = 0;
  int64_t task_version = 0;
  int incumbent = 0;       // 0: none
  int best_candidate = 0;  // the incumbent, or else the fastest right one; 0: none
};
// NOT_FOUND if there is no such job.
absl::StatusOr<JobRow> ReadJob(SQLite::Database& database, JobId job);
// The same, FAILED_PRECONDITION if the job has ended.
absl::StatusOr<JobRow> ReadOpenJob(SQLite::Database& database, JobId job);
absl::StatusOr<JobId> FindJobRow(SQLite::Database& database, const std::string& name);

v1::Usage ReadUsage(SQLite::Database& database, JobId job);

// As shown in events, lists and answers: long option values of the generator are replaced by their size.
v1::Job Shown(v1::Job job);

enum class WithSource { kNo, kYes };
// A candidate as in the API. NOT_FOUND if there is none of this number.
absl::StatusOr<v1::Candidate> ReadCandidate(SQLite::Database& database, const v1::Job& job, JobId id, int number,
                                            WithSource with_source);

// Gives the event its sequence number, time and job, and stores it.
absl::Status AppendEvent(SQLite::Database& database, JobId id, const std::string& job, int64_t at_us, v1::Event event);
// The event of a job's state as it is now.
absl::Status AppendStateEvent(SQLite::Database& database, JobId id, int64_t at_us);

// The row of this very task, made if it is not there.
int64_t KeepTask(SQLite::Database& database, const v1::Task& task, int64_t at_us);
absl::StatusOr<v1::Task> ReadTask(SQLite::Database& database, int64_t task_version);

// Keeps the first completion of a prompt; NOT_FOUND if there is no such prompt.
absl::Status KeepCompletion(SQLite::Database& database, JobId job, const Store::NewCompletion& completion,
                            int64_t at_us);

// Lessons (store_lessons.cc). KeepLesson is for a job that ends, ChooseLessons for one that begins, LessonsOf for what
// was chosen for it, the most relevant first.
void KeepLesson(SQLite::Database& database, const JobRow& job, const v1::Task& task, const NewLesson& lesson,
                int64_t at_us);
void ChooseLessons(SQLite::Database& database, const JobRow& job, const v1::Task& task);
std::vector<v1::Lesson> LessonsOf(SQLite::Database& database, JobId job);

// The programs that candidates of the job have run, so that a worker need not run them again.
void FillKnownPrograms(SQLite::Database& database, JobId job, v1::EvaluationSpec* spec);
// Makes the candidates of `evaluation` duplicates of the job's first one with this program; false: there is none.
bool AnswerByTwin(SQLite::Database& database, JobId job, EvaluationId evaluation, const std::string& program_hash);

struct NewEvaluation {
  std::optional<JobId> job;
  EvaluationPurpose purpose = EvaluationPurpose::kSingle;
  std::optional<int> candidate;
  int64_t task_version = 0;
  std::string device_kind;
};
// RESOURCE_EXHAUSTED if `queued_max` evaluations wait already.
absl::StatusOr<EvaluationId> Enqueue(SQLite::Database& database, const NewEvaluation& what, v1::EvaluationSpec spec,
                                     int64_t at_us, int queued_max);

}  // namespace fsr
