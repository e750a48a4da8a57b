// Lessons: what a job leaves to later ones, which of them a job is told, and the search over their words.
#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/status_macros.h"
#include "server/store/rows.h"
#include "server/store/store.h"
#include "server/store/store_impl.h"

namespace fsr {
namespace {

constexpr uint32_t kLessonsListedDefault = 20;
// Words of a task's description, or of a query, that are looked for.
constexpr size_t kQueryWordsMax = 64;
// Shorter ones are in every text.
constexpr size_t kWordLengthMin = 3;

constexpr char kAddLesson[] = R"sql(
  INSERT INTO lessons (job_id, candidate, task, tags, description, device_kind, speedup, estimated, text, created_at_us)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?))sql";
constexpr char kAddJobLesson[] = "INSERT INTO job_lessons (job_id, position, lesson_id) VALUES (?, ?, ?)";
constexpr char kLessonsOfJob[] = "SELECT lesson_id FROM job_lessons WHERE job_id = ? ORDER BY position";
constexpr char kReadLesson[] = R"sql(
  SELECT l.task, l.tags, l.device_kind, l.speedup, l.estimated, l.text, c.source, j.name, l.candidate, l.created_at_us
  FROM lessons l
    JOIN jobs j ON j.id = l.job_id
    JOIN candidates c ON c.job_id = l.job_id AND c.number = l.candidate
  WHERE l.id = ?)sql";

// Of each task on each kind of device the best lesson counts. The same task goes first, then the same kind of device,
// then the more its words have in common with the new task (bm25 is the lower the better; tags weigh most).
constexpr char kRelevant[] = R"sql(
  WITH ranked AS (
    SELECT id, task, device_kind,
      ROW_NUMBER() OVER (PARTITION BY task, device_kind ORDER BY speedup DESC, id DESC) AS place
    FROM lessons)
  SELECT r.id
  FROM ranked r LEFT JOIN (
    SELECT rowid AS id, bm25(lesson_words, 4.0, 8.0, 1.0, 1.0) AS score FROM lesson_words WHERE lesson_words MATCH ?
  ) words ON words.id = r.id
  WHERE r.place = 1 AND (r.task = ? OR words.score IS NOT NULL)
  ORDER BY r.task = ? DESC, r.device_kind = ? DESC, COALESCE(words.score, 0), r.id DESC
  LIMIT ?)sql";
constexpr char kNewest[] = R"sql(
  SELECT id FROM lessons WHERE (? = '' OR task = ?) AND (? = '' OR device_kind = ?) ORDER BY id DESC LIMIT ?)sql";
constexpr char kMatching[] = R"sql(
  SELECT l.id FROM lesson_words w JOIN lessons l ON l.id = w.rowid
  WHERE w.lesson_words MATCH ? AND (? = '' OR l.task = ?) AND (? = '' OR l.device_kind = ?)
  ORDER BY bm25(lesson_words), l.id DESC LIMIT ?)sql";

// The words of `text`, each once and in quotes, as FTS5 wants them: letters and digits only, so nothing in them is
// syntax. Bytes beyond ASCII belong to words.
std::vector<std::string> QuotedWords(const std::string& text) {
  std::vector<std::string> words;
  std::set<std::string> seen;
  std::string word;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80) {
      word += absl::ascii_tolower(static_cast<unsigned char>(c));
      continue;
    }
    if (word.size() >= kWordLengthMin && words.size() < kQueryWordsMax && seen.insert(word).second) {
      words.push_back(fmt::format("\"{}\"", word));
    }
    word.clear();
  }
  return words;
}

std::string JoinedTags(const v1::Task& task) { return fmt::format("{}", fmt::join(task.tags(), "\n")); }

// Lessons that share a tag, or a word of the task's name; ranked by the words of the description, too. Empty: the task
// has neither.
std::string RelevantWords(const v1::Task& task) {
  std::vector<std::string> shared;
  if (const auto tags = QuotedWords(JoinedTags(task)); !tags.empty()) {
    shared.push_back(fmt::format("{{tags}} : ({})", fmt::join(tags, " OR ")));
  }
  if (const auto name = QuotedWords(task.name()); !name.empty()) {
    shared.push_back(fmt::format("{{task}} : ({})", fmt::join(name, " OR ")));
  }
  if (shared.empty()) return "";
  const std::string any = fmt::format("({})", fmt::join(shared, " OR "));
  const std::vector<std::string> words = QuotedWords(task.description());
  return words.empty() ? any : fmt::format("{0} AND ({0} OR {1})", any, fmt::join(words, " OR "));
}

std::vector<int64_t> ReadIds(SQLite::Statement query) {
  std::vector<int64_t> ids;
  while (query.executeStep()) ids.push_back(query.getColumn(0).getInt64());
  return ids;
}

v1::Lesson ReadLesson(SQLite::Database& database, int64_t id) {
  SQLite::Statement query = Prepare(database, kReadLesson, id);
  query.executeStep();
  v1::Lesson lesson;
  lesson.set_number(static_cast<uint32_t>(id));
  lesson.set_task(query.getColumn(0).getString());
  std::string tag;
  for (const char c : query.getColumn(1).getString() + "\n") {
    if (c != '\n') {
      tag += c;
    } else if (!tag.empty()) {
      lesson.add_tags(std::exchange(tag, {}));
    }
  }
  lesson.set_device_kind(query.getColumn(2).getString());
  lesson.set_speedup(query.getColumn(3).getDouble());
  lesson.set_estimated(query.getColumn(4).getInt() != 0);
  lesson.set_text(query.getColumn(5).getString());
  lesson.set_source(query.getColumn(6).getString());
  lesson.set_candidate(CandidateName(query.getColumn(7).getString(), ToInt(query.getColumn(8))));
  lesson.set_created_at_us(query.getColumn(9).getInt64());
  return lesson;
}

}  // namespace

void KeepLesson(SQLite::Database& database, const JobRow& job, const v1::Task& task, const NewLesson& lesson,
                int64_t at_us) {
  Execute(database, kAddLesson, job.id, lesson.candidate, task.name(), JoinedTags(task), task.description(),
          lesson.device_kind, lesson.speedup, lesson.estimated ? 1 : 0, lesson.text, at_us);
}

void ChooseLessons(SQLite::Database& database, const JobRow& job, const v1::Task& task) {
  // A query that nothing matches stands in where there are no words: no text has this one.
  std::string words = RelevantWords(task);
  if (words.empty()) words = "\"\"";
  int position = 0;
  for (const int64_t id : ReadIds(
           Prepare(database, kRelevant, words, task.name(), task.name(), job.job.device_kind(), kLessonsShownMax))) {
    Execute(database, kAddJobLesson, job.id, ++position, id);
  }
}

std::vector<v1::Lesson> LessonsOf(SQLite::Database& database, JobId job) {
  std::vector<v1::Lesson> lessons;
  for (const int64_t id : ReadIds(Prepare(database, kLessonsOfJob, job))) lessons.push_back(ReadLesson(database, id));
  return lessons;
}

absl::StatusOr<v1::ListLessonsResponse> Store::ListLessons(const v1::ListLessonsRequest& request) {
  const std::vector<std::string> words = QuotedWords(request.query());
  if (words.empty() && !request.query().empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "the query \"{}\" has no word of at least {} letters to look for: leave it empty to list all lessons",
        request.query(), kWordLengthMin));
  }
  const auto count = static_cast<int>(
      std::min<uint32_t>(request.count_max() == 0 ? kLessonsListedDefault : request.count_max(), kLessonsListedMax));
  return impl_->Read([&](SQLite::Database& database) -> absl::StatusOr<v1::ListLessonsResponse> {
    const std::string& task = request.task();
    const std::string& kind = request.device_kind();
    const std::vector<int64_t> ids =
        words.empty() ? ReadIds(Prepare(database, kNewest, task, task, kind, kind, count))
                      : ReadIds(Prepare(database, kMatching, fmt::format("{}", fmt::join(words, " AND ")), task, task,
                                        kind, kind, count));
    v1::ListLessonsResponse response;
    for (const int64_t id : ids) {
      if (response.ByteSizeLong() > kPageBytesMax) break;
      *response.add_lessons() = ReadLesson(database, id);
    }
    return response;
  });
}

}  // namespace fsr
