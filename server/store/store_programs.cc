// Candidates of a job that turn out, once they are compiled, to be the same program.
#include "server/store/rows.h"
#include "server/store/store_impl.h"

namespace fsr {
namespace {

constexpr char kKnownPrograms[] = R"sql(
  SELECT program_hash, id, outcome FROM evaluations
  WHERE job_id = ? AND purpose = 'CANDIDATE' AND program_hash IS NOT NULL ORDER BY id DESC LIMIT ?)sql";
// The first candidate with the program; one that is itself a twin names the one that answers for it.
constexpr char kTwin[] = R"sql(
  SELECT COALESCE(c.duplicate_of, c.number), c.evaluation_id
  FROM evaluations e JOIN candidates c ON c.job_id = e.job_id AND c.number = e.candidate
  WHERE e.job_id = ? AND e.purpose = 'CANDIDATE' AND e.program_hash = ? AND e.id != ? ORDER BY e.id LIMIT 1)sql";
constexpr char kAnswerByTwin[] =
    "UPDATE candidates SET duplicate_of = ?, evaluation_id = ? WHERE job_id = ? AND evaluation_id = ?";

}  // namespace

void FillKnownPrograms(SQLite::Database& database, JobId job, v1::EvaluationSpec* spec) {
  SQLite::Statement query = Prepare(database, kKnownPrograms, job, kKnownProgramsMax);
  while (query.executeStep()) {
    v1::KnownProgram* known = spec->add_known_programs();
    known->set_program_hash(query.getColumn(0).getString());
    known->set_evaluation_id(query.getColumn(1).getString());
    v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
    v1::Outcome_Parse(query.getColumn(2).getString(), &outcome);
    known->set_outcome(outcome);
  }
}

bool AnswerByTwin(SQLite::Database& database, JobId job, EvaluationId evaluation, const std::string& program_hash) {
  if (program_hash.empty()) return false;
  SQLite::Statement twin = Prepare(database, kTwin, job, program_hash, evaluation);
  if (!twin.executeStep()) return false;
  Execute(database, kAnswerByTwin, ToInt(twin.getColumn(0)), twin.getColumn(1).getInt64(), job, evaluation);
  return true;
}

}  // namespace fsr
