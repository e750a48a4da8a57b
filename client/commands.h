// The commands, one function each: options in, exit code out. What they print is for people, or JSON with --json.
#pragma once

#include <string>

#include "client/session.h"
#include "fsr/v1/search.pb.h"

namespace fsr {

struct JobRequestOptions {
  std::string task;
  std::string device = "sim:h200";
  std::string model = "tune";  // the generator
  std::string recording;       // replay: a file; empty: the task's recording.json
  std::string request_id;
  std::string output;  // run: where the best kernel is written; empty: in the state folder
  v1::JobOptions options;
};

int RunCommand(Session& session, const JobRequestOptions& options);     // run.cc
int SubmitCommand(Session& session, const JobRequestOptions& options);  // run.cc
// `device` is the one of this machine that goes on with the job; empty: the simulated one that the job asks for.
int WatchCommand(Session& session, const std::string& job, const std::string& device,
                 uint64_t after_sequence);  // run.cc

int JobsCommand(Session& session, int count_max);                             // jobs.cc
int JobCommand(Session& session, const std::string& job);                     // jobs.cc
int CancelCommand(Session& session, const std::string& job);                  // jobs.cc
int WorkersCommand(Session& session);                                         // jobs.cc
int LessonsCommand(Session& session, const v1::ListLessonsRequest& request);  // jobs.cc

int BestCommand(Session& session, const std::string& task, const std::string& device_kind,
                const std::string& output);                                                  // candidates.cc
int CandidatesCommand(Session& session, const std::string& job);                             // candidates.cc
int CandidateCommand(Session& session, const std::string& candidate, bool diff);             // candidates.cc
int DialogueCommand(Session& session, const std::string& job, const std::string& dialogue);  // candidates.cc

struct EvaluateOptions {
  std::string task, file;
  std::string device = "sim:h200";
  v1::Limits limits;
  uint64_t seed = 0;
};
int EvaluateCommand(Session& session, const EvaluateOptions& options);  // evaluate.cc

int TasksCommand(Session& session);                                                         // tasks.cc
int TaskNewCommand(Session& session, const std::string& folder);                            // task_new.cc
int TaskLintCommand(Session& session, const std::string& task, const std::string& device);  // task_lint.cc

// The whole program: parses the command line and calls one of the above.
int ClientMain(int argc, char** argv);  // cli.cc

}  // namespace fsr
