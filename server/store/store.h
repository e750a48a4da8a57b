// Everything that happened, in SQLite: jobs, prompts, completions, candidates, evaluations, attempts, events.
//
// The store is the only memory of the coordinator: whatever is not in it did not happen. Every method is one
// transaction, so a killed coordinator continues from the last completed one. Safe for concurrent use: one
// connection behind one mutex. Errors: NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION as documented; RESOURCE_EXHAUSTED
// for a full disk or a named limit; UNAVAILABLE if another program holds the database; DATA_LOSS if it is damaged;
// INTERNAL for other trouble of SQLite.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/search.pb.h"
#include "fsr/v1/worker.pb.h"
#include "server/store/change_signal.h"

namespace fsr {

using JobId = int64_t;
using EvaluationId = int64_t;

inline constexpr int kRequestIdLengthMax = 128;
inline constexpr int kQueuedEvaluationsMax = 100'000;  // waiting ones
// A page of a list ends early beyond this, so that it fits into the 4 MiB that a gRPC client takes by default.
inline constexpr int kPageBytesMax = 2 << 20;
inline constexpr int kLessonsShownMax = 3;     // of earlier jobs, to one job
inline constexpr int kLessonsListedMax = 100;  // in one answer
// The latest programs of a job that a worker is told with an evaluation.
inline constexpr int kKnownProgramsMax = 1000;
// A longer value of a generator's option (a whole recording, say) is shown by its size in what the API answers;
// JobFacts has it in full.
inline constexpr int kOptionShownBytesMax = 1024;

// One prompt of one round, as sent to the generator.
struct StoredPrompt {
  int number = 0;  // within the job, from 1
  int round = 0;   // from 1
  v1::Branch branch = v1::TASK;
  int dialogue = 0;          // which lineage it continues; from 1
  int parent_candidate = 0;  // 0: none
  std::string system_text, user_text;
  std::optional<double> temperature = std::nullopt;      // nullopt: the model's own
  std::optional<std::string> completion = std::nullopt;  // nullopt: not answered yet
  std::string change = "";                               // what the generator said it changed
  int candidate = 0;                                     // made of the completion; 0: not yet
  // While it is not answered: the calls that were made for it, by number (it being the first of a call's prompts).
  std::vector<v1::ModelCall> calls = {};
};

struct StoredCandidate {
  int number = 0;  // within the job, from 1
  int round = 0;
  int prompt = 0;
  int parent_candidate = 0;
  int dialogue = 0;
  std::string source;
  std::string source_hash;      // of NormalizedSource
  int duplicate_of = 0;         // 0: it has its own evaluation
  EvaluationId evaluation = 0;  // its own or that of duplicate_of; 0: refused before any evaluation, see `result`
  bool was_incumbent = false;
  std::string change;
  std::optional<v1::Evaluation> result;  // nullopt: not finished
};

// All that a job's decisions are made from.
struct JobFacts {
  JobId id = 0;
  v1::Job job;  // with counts, without best_source and baseline
  v1::Task task;
  std::map<std::string, std::string> prompt_templates;  // overrides, by file name
  EvaluationId baseline_evaluation = 0;                 // 0: not enqueued
  std::optional<v1::Evaluation> baseline;               // finished
  std::vector<v1::Lesson> lessons;                      // of earlier jobs, chosen when this one began; best first
  std::vector<StoredPrompt> prompts;                    // by number
  std::vector<StoredCandidate> candidates;              // by number
  int incumbent = 0;                                    // candidate number; 0: none
  // Measured again since a verdict was AMBIGUOUS: candidate number -> the result (nullopt: not finished).
  std::map<int, std::optional<v1::Evaluation>> remeasured;
};

enum class EvaluationPurpose { kBaseline, kCandidate, kRemeasure, kSingle };

struct NewPrompt {
  v1::Branch branch = v1::TASK;
  int dialogue = 0;  // 0: a new lineage
  int parent_candidate = 0;
  std::string system_text, user_text;
  std::optional<double> temperature = std::nullopt;
};

struct NewCandidate {
  int prompt = 0;
  std::string source = "";
  std::string source_hash = "";
  int duplicate_of = 0;
  // Neither a duplicate nor refused: what to evaluate (its task field is left empty, the job's task is used).
  std::optional<v1::EvaluationSpec> spec = std::nullopt;
  std::optional<v1::Evaluation> refused = std::nullopt;  // e.g. no code in the answer
};

// What a job leaves to later ones.
struct NewLesson {
  int candidate = 0;        // the winner
  std::string device_kind;  // of the device itself
  double speedup = 0;       // over the baseline, above 1
  bool estimated = false;
  std::string text;
};

// How an attempt ended that brought no result.
enum class AttemptEnd {
  kLost,      // the worker was not heard of any more
  kReturned,  // the worker gave it back
};

class Store {
 public:
  struct Options {
    int queued_evaluations_max = kQueuedEvaluationsMax;
    int64_t database_bytes_max = 0;                  // the database never grows beyond it; 0: as far as the disk goes
    absl::Duration busy_timeout = absl::Seconds(5);  // while another program, such as a backup, holds the lock
  };
  // Opens or makes the database and brings it to the newest schema. FAILED_PRECONDITION if it is newer than this
  // program (it is then left untouched), or if it is not a database of fsr. Makes the folders above it. ":memory:"
  // works for tests. REQUIRES: `clock` outlives it.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::filesystem::path& path, Clock* clock, Options options);
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::filesystem::path& path, Clock* clock) {
    return Open(path, clock, Options());
  }
  ~Store();
  Store(const Store&) = delete;  // owns the connection
  Store& operator=(const Store&) = delete;

  ChangeSignal& changes();  // notified after every transaction that changed something

  // ---- Jobs ----
  // The same request_id with the same content gives the same job (created = false); with another content
  // ALREADY_EXISTS. `request` has its defaults filled in; `content_hash` is ContentHash of what the client sent, before
  // a seed was drawn for it (empty: that of `request`).
  struct CreatedJob {
    v1::Job job;
    bool created = false;
  };
  absl::StatusOr<CreatedJob> CreateJob(const v1::CreateJobRequest& request, const std::string& prompts_hash,
                                       const std::string& content_hash = "");
  absl::StatusOr<v1::Job> GetJob(const std::string& name);  // with best_source and baseline
  absl::StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request);
  absl::StatusOr<v1::ListTasksResponse> ListTasks();
  absl::StatusOr<std::vector<JobId>> UnfinishedJobs();  // QUEUED or RUNNING, oldest first
  absl::StatusOr<JobFacts> LoadFacts(JobId job);
  // QUEUED -> RUNNING; writes the event and chooses the lessons of earlier jobs that this one is told, unless it has
  // `no_memory`. OK and no event if it is already running.
  absl::Status StartJob(JobId job);
  // To FINISHED, CANCELLED or FAILED, with its event; open evaluations of the job are cancelled and their leases
  // abandoned. `lesson` is kept with it. FAILED_PRECONDITION if it has already ended.
  absl::Status EndJob(JobId job, v1::Job::State state, const std::string& reason,
                      const std::optional<NewLesson>& lesson = std::nullopt);
  absl::StatusOr<JobId> FindJob(const std::string& name);  // NOT_FOUND says how to list jobs
  absl::StatusOr<bool> HasJobEnded(JobId job);

  // ---- The steps of a job: each writes its events in the same transaction ----
  // FAILED_PRECONDITION if the job has ended, but for StoreCompletion: what was paid for is kept.
  absl::Status EnqueueBaseline(JobId job, const v1::EvaluationSpec& spec);  // no-op if there is one
  // Begins round `round` with its prompts; ALREADY_EXISTS if that round has begun.
  absl::Status StartRound(JobId job, int round, const std::vector<NewPrompt>& prompts);
  // Keeps the first completion of a prompt; a second one is ignored.
  absl::Status StoreCompletion(JobId job, int prompt, const std::string& text, const std::string& change);
  // Stores that a call is about to be made (its number, state and start are set here), and its number in the job.
  absl::StatusOr<uint32_t> BeginCall(JobId job, v1::ModelCall call);
  struct NewCompletion {
    int prompt = 0;
    std::string text, change;
  };
  // Ends an open call (ANSWERED, FAILED, LOST) and stores the answers that it brought, in one transaction, also when
  // the job has ended. A call that has ended before is left as it is.
  absl::Status EndCall(JobId job, v1::ModelCall call, const std::vector<NewCompletion>& completions);
  absl::StatusOr<v1::Usage> UsageOf(JobId job);
  absl::StatusOr<v1::ListModelCallsResponse> ListModelCalls(const v1::ListModelCallsRequest& request);
  // Makes the candidate of a prompt and enqueues its evaluation; a second one for the same prompt is ignored.
  absl::Status AddCandidate(JobId job, const NewCandidate& candidate);
  absl::Status Remeasure(JobId job, int candidate, const v1::EvaluationSpec& spec);  // no-op if there is one
  absl::Status Promote(JobId job, int candidate);                                    // makes it the incumbent

  // ---- Reading what happened ----
  absl::StatusOr<v1::ListCandidatesResponse> ListCandidates(const v1::ListCandidatesRequest& request);
  absl::StatusOr<v1::Candidate> GetCandidate(const std::string& name);
  absl::StatusOr<v1::Dialogue> GetDialogue(const v1::GetDialogueRequest& request);
  absl::StatusOr<v1::Candidate> GetBestKernel(const v1::GetBestKernelRequest& request);
  // By relevance to the query, or newest first; at most kLessonsListedMax. INVALID_ARGUMENT for a query without a word.
  absl::StatusOr<v1::ListLessonsResponse> ListLessons(const v1::ListLessonsRequest& request);
  // At most `count_max` events after `after_sequence`, in order.
  absl::StatusOr<std::vector<v1::Event>> EventsAfter(JobId job, uint64_t after_sequence, int count_max);

  // ---- Evaluations and attempts, for dispatch ----
  // One evaluation without a job. The task is kept.
  absl::StatusOr<EvaluationId> EnqueueSingle(const v1::EvaluationSpec& spec, const std::string& device_kind);
  // nullopt: not finished. FAILED_PRECONDITION if it was cancelled.
  absl::StatusOr<std::optional<v1::Evaluation>> ResultOf(EvaluationId evaluation);
  absl::Status CancelSingle(EvaluationId evaluation);  // no-op if it has ended
  // All of them: for the start of a server, since nobody waits for those of the one before.
  absl::Status CancelAllSingle();

  struct OpenAttempt {
    std::string lease_id;
    EvaluationId evaluation = 0;
    std::string worker_id, boot_id;
    int attempt = 0;  // from 1
    absl::Time leased_at;
  };
  // Hands the oldest waiting evaluation that asks for this device to the worker, under `lease_id`; a job's baseline
  // goes before its candidates. Jobs ask by device.kind, or with kAnyCudaDevice. nullopt if none waits.
  absl::StatusOr<std::optional<v1::Assignment>> Lease(const v1::DeviceFacts& device, const std::string& worker_id,
                                                      const std::string& boot_id, const std::string& lease_id);
  absl::StatusOr<std::vector<OpenAttempt>> OpenAttempts();                                // of all workers
  absl::StatusOr<std::vector<OpenAttempt>> OpenAttemptsOf(const std::string& worker_id);  // oldest first
  // What Lease answered for an open lease, once more; nullopt if it is not open.
  absl::StatusOr<std::optional<v1::Assignment>> AssignmentOf(const std::string& lease_id);
  // Records the result if the lease is open (compare-and-set); false if it is not: nothing has changed then. A
  // candidate whose program_hash is that of an earlier one of its job becomes a duplicate of it.
  absl::StatusOr<bool> Finish(const std::string& lease_id, v1::Evaluation result);
  // Ends an open attempt without a result, for `reason`; the evaluation waits again, or, once `count_max` of its
  // attempts have ended like this, it ends with an UNSUPPORTED outcome whose diagnosis says so. False if the lease is
  // not open.
  absl::StatusOr<bool> Release(const std::string& lease_id, AttemptEnd how, const std::string& reason, int count_max);

 private:
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The generator whose prompts are answered through the API.
inline constexpr char kMailbox[] = "mailbox";

// The device kind that any worker with a real GPU serves.
inline constexpr char kAnyCudaDevice[] = "cuda";

// Of all that makes two requests with the same request_id the same: everything but the request_id.
std::string ContentHash(const v1::CreateJobRequest& request);

// Names in the API: "jobs/transpose-7", "jobs/transpose-7/candidates/3", "jobs/transpose-7/dialogues/2".
std::string CandidateName(const std::string& job, int number);
std::string DialogueName(const std::string& job, int number);

}  // namespace fsr
