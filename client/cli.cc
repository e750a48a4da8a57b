// The command line: every command and option, in one file, so that CLI11's heavy header is compiled once.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <functional>
#include <system_error>

#include "client/commands.h"
#include "common/status.h"

namespace fsr {
namespace {

constexpr char kDescription[] =
    "fsr finds fast CUDA kernels: a generator proposes, a worker compiles, judges and measures.";

constexpr char kExamples[] = R"(Examples:
  fsr run tasks/transpose                         search on the simulated H200, without a model
  fsr run tasks/matmul --device sim:rtx3090ti --rounds 4 --candidates 8
  fsr run tasks/transpose --model replay          a recorded dialogue through every kind of failure
  fsr evaluate tasks/transpose mine.cu            judge and measure one kernel
  fsr best transpose --output best.cu             the fastest right kernel of all jobs
  fsr candidate transpose-1/3 --diff              what candidate 3 changed
  fsr submit tasks/matmul --server gpu-host:7070  hand a job in elsewhere; then fsr watch JOB --server …

Without --server (or FSR_SERVER) a coordinator and a worker are started on this machine and end with the command; jobs are
kept in ~/.local/state/fsr (or FSR_STATE_DIR).
Exit codes: 0 yes, 1 no (a kernel that is not right, a search that found none), 2 wrong usage or trouble.)";

// CLI11 takes -1 and numbers beyond 64 bits for some other number.
std::string CheckWholeNumber(const std::string& text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && read == end ? "" : fmt::format("{} is no whole number from 0 to {}", text, UINT64_MAX);
}

// Collects the options of one invocation; the chosen command is run after parsing.
struct Invocation {
  SessionOptions session;
  JobRequestOptions job_request;
  EvaluateOptions evaluate;
  std::string name, second_name, output, device_kind, watch_device;
  v1::ListLessonsRequest lessons;
  uint64_t after_sequence = 0;
  int count_max = 50;
  bool diff = false;
  std::function<int(Session&)> command;
};

void AddJobOptions(CLI::App* app, Invocation& in) {
  v1::JobOptions& options = in.job_request.options;
  auto set_count = [app](const char* flag, const char* help, const std::function<void(uint32_t)>& set) {
    app->add_option_function<uint32_t>(flag, set, help);
  };
  app->add_option("task", in.job_request.task, "A task folder, or the name of a bundled one")->required();
  app->add_option("--device", in.job_request.device, "sim:PROFILE, cuda:N; with --server the kind of device")
      ->capture_default_str();
  app->add_option("--model", in.job_request.model, "The generator: tune (no model) or replay")->capture_default_str();
  app->add_option("--recording", in.job_request.recording, "replay: the recording; default: the task's recording.json");
  app->add_option("--request-id", in.job_request.request_id, "The same id gives the same job");
  set_count("--rounds", "At most so many rounds (default 8)", [&](uint32_t n) { options.set_round_count_max(n); });
  set_count("--candidates", "Candidates a round (default 8)", [&](uint32_t n) { options.set_candidates_per_round(n); });
  set_count("--patience", "Stop after so many rounds without a better one",
            [&](uint32_t n) { options.set_patience_rounds(n); });
  app->add_option_function<double>(
      "--target-speedup", [&](double x) { options.set_target_speedup(x); }, "Stop at this speed-up");
  app->add_option_function<double>(
      "--target-latency-us", [&](double x) { options.set_target_latency_us(x); }, "Stop at this time");
  app->add_option_function<double>(
      "--wall-seconds", [&](double x) { options.set_wall_seconds_max(x); }, "Stop after so long");
  app->add_option_function<uint64_t>(
         "--seed", [&](uint64_t x) { options.set_seed(x); }, "Of the search's own randomness")
      ->check(CheckWholeNumber);
}

// How rounds are planned; none of it given is the search as published, with hints and memory.
void AddStrategyOptions(CLI::App* app, Invocation& in) {
  v1::SearchStrategy& strategy = *in.job_request.options.mutable_strategy();
  const auto set_number = [app](const char* flag, const char* help, const std::function<void(double)>& set) {
    app->add_option_function<double>(flag, set, help);
  };
  set_number("--repair-share", "Once something is right: this part of a round (0 to 1) mends near misses",
             [&](double x) { strategy.set_repair_share(x); });
  app->add_option_function<uint32_t>(
      "--parents", [&](uint32_t n) { strategy.set_parents(n); },
      "Improve the best so many right kernels in turn (default 1, at most 16)");
  set_number("--temperature-low", "Temperature of a round's first prompt (0 to 2; default: the model's own)",
             [&](double x) { strategy.set_temperature_low(x); });
  set_number("--temperature-high", "Temperature of a round's last prompt; those between are spread evenly",
             [&](double x) { strategy.set_temperature_high(x); });
  const auto set_flag = [app](const char* flag, const char* help, const std::function<void()>& set) {
    app->add_flag_callback(flag, set, help);
  };
  set_flag("--merge-failures", "While nothing is right: one prompt shows all failures, not one prompt a failure",
           [&] { strategy.set_merge_failures(true); });
  set_flag("--free-repair-rounds", "Rounds before anything is right (at most 32) do not count against --rounds",
           [&] { strategy.set_free_repair_rounds(true); });
  set_flag("--final-round-only", "The answer is the best of the last round with a right kernel, not of the whole job",
           [&] { strategy.set_final_round_only(true); });
  set_flag("--no-hints", "Suggest no directions: all prompts from one kernel are the same",
           [&] { strategy.set_no_hints(true); });
  set_flag("--no-memory", "Tell the model nothing of earlier jobs, and leave no lesson for later ones",
           [&] { strategy.set_no_memory(true); });
}

void AddSearchCommands(CLI::App& app, Invocation& in) {
  CLI::App* run = app.add_subcommand("run", "Search a fast kernel for a task and show how it goes");
  AddJobOptions(run, in);
  AddStrategyOptions(run, in);
  run->add_option("--output", in.job_request.output, "Where the best kernel is written");
  run->callback([&in] { in.command = [&in](Session& s) { return RunCommand(s, in.job_request); }; });

  CLI::App* submit = app.add_subcommand("submit", "Hand a job in and return");
  AddJobOptions(submit, in);
  AddStrategyOptions(submit, in);
  submit->callback([&in] { in.command = [&in](Session& s) { return SubmitCommand(s, in.job_request); }; });

  CLI::App* watch = app.add_subcommand("watch", "Follow a job to its end; with --json one event a line");
  watch->add_option("job", in.name, "Such as transpose-1")->required();
  watch->add_option("--after", in.after_sequence, "Only events after this sequence number")->check(CheckWholeNumber);
  watch->add_option("--device", in.watch_device, "cuda:N, for a job on a GPU of this machine");
  watch->callback([&in] {
    in.command = [&in](Session& s) { return WatchCommand(s, in.name, in.watch_device, in.after_sequence); };
  });

  CLI::App* cancel = app.add_subcommand("cancel", "Stop a job; what it found stays");
  cancel->add_option("job", in.name)->required();
  cancel->callback([&in] { in.command = [&in](Session& s) { return CancelCommand(s, in.name); }; });

  CLI::App* evaluate =
      app.add_subcommand("evaluate", "Judge and measure one kernel, without a search; 0 only if it is right");
  evaluate->add_option("task", in.evaluate.task)->required();
  evaluate->add_option("file", in.evaluate.file, "The kernel, a .cu file with `// fsr:` lines")->required();
  evaluate->add_option("--device", in.evaluate.device)->capture_default_str();
  evaluate->add_option("--seed", in.evaluate.seed, "Of the input data; default: drawn")->check(CheckWholeNumber);
  evaluate->add_option_function<double>("--compile-seconds",
                                        [&in](double x) { in.evaluate.limits.set_compile_seconds(x); });
  evaluate->add_option_function<double>("--run-seconds", [&in](double x) { in.evaluate.limits.set_run_seconds(x); });
  evaluate->callback([&in] { in.command = [&in](Session& s) { return EvaluateCommand(s, in.evaluate); }; });
}

void AddReadingCommands(CLI::App& app, Invocation& in) {
  CLI::App* jobs = app.add_subcommand("jobs", "List jobs, newest first");
  jobs->add_option("--count", in.count_max, "At most so many")->capture_default_str()->check(CLI::Range(1, 500));
  jobs->callback([&in] { in.command = [&in](Session& s) { return JobsCommand(s, in.count_max); }; });

  CLI::App* job = app.add_subcommand("job", "One job");
  job->add_option("job", in.name)->required();
  job->callback([&in] { in.command = [&in](Session& s) { return JobCommand(s, in.name); }; });

  CLI::App* best = app.add_subcommand("best", "The fastest right kernel of a task, over all jobs");
  best->add_option("task", in.name)->required();
  best->add_option("--device-kind", in.device_kind, "Such as sim:h200; default: any");
  best->add_option("--output", in.output, "Write its source here");
  best->callback(
      [&in] { in.command = [&in](Session& s) { return BestCommand(s, in.name, in.device_kind, in.output); }; });

  CLI::App* candidates = app.add_subcommand("candidates", "Every candidate of a job and what came of it");
  candidates->add_option("job", in.name)->required();
  candidates->callback([&in] { in.command = [&in](Session& s) { return CandidatesCommand(s, in.name); }; });

  CLI::App* candidate = app.add_subcommand("candidate", "One candidate: source, outcome, log, counters");
  candidate->add_option("candidate", in.name, "Such as transpose-1/3")->required();
  candidate->add_flag("--diff", in.diff, "What it changed of its parent");
  candidate->callback([&in] { in.command = [&in](Session& s) { return CandidateCommand(s, in.name, in.diff); }; });

  CLI::App* dialogue = app.add_subcommand("dialogue", "What was asked of the generator and what it answered, in order");
  dialogue->add_option("job", in.name)->required();
  dialogue->add_option("dialogue", in.second_name, "The number of one dialogue; default: all of the job");
  dialogue->callback([&in] { in.command = [&in](Session& s) { return DialogueCommand(s, in.name, in.second_name); }; });

  CLI::App* lessons = app.add_subcommand("lessons", "What earlier jobs found out, as later ones are told");
  lessons->add_option_function<std::string>(
      "query", [&in](const std::string& text) { in.lessons.set_query(text); },
      "Words to look for; default: newest first");
  lessons->add_option_function<std::string>(
      "--task", [&in](const std::string& text) { in.lessons.set_task(text); }, "Only of this task");
  lessons->add_option_function<std::string>(
      "--device-kind", [&in](const std::string& text) { in.lessons.set_device_kind(text); }, "Such as sim:h200");
  lessons
      ->add_option_function<uint32_t>(
          "--count", [&in](uint32_t n) { in.lessons.set_count_max(n); }, "At most so many (default 20)")
      ->check(CLI::Range(1, 100));
  lessons->callback([&in] { in.command = [&in](Session& s) { return LessonsCommand(s, in.lessons); }; });

  CLI::App* workers = app.add_subcommand("workers", "The workers of the coordinator");
  workers->callback([&in] { in.command = [](Session& s) { return WorkersCommand(s); }; });
}

void AddTaskCommands(CLI::App& app, Invocation& in) {
  CLI::App* tasks = app.add_subcommand("tasks", "List the tasks there are");
  tasks->callback([&in] { in.command = [](Session& s) { return TasksCommand(s); }; });

  CLI::App* task = app.add_subcommand("task", "Make or check a task of your own");
  task->require_subcommand(1);
  CLI::App* task_new = task->add_subcommand("new", "Make a commented skeleton of a task folder");
  task_new->add_option("folder", in.name, "The new folder; its last part is the task's name")->required();
  task_new->callback([&in] { in.command = [&in](Session& s) { return TaskNewCommand(s, in.name); }; });
  CLI::App* lint = task->add_subcommand(
      "lint", "Check a task: its files, its oracle, its baseline, and that nothing trivial passes");
  lint->add_option("task", in.name)->required();
  lint->add_option("--device", in.evaluate.device)->capture_default_str();
  lint->callback([&in] { in.command = [&in](Session& s) { return TaskLintCommand(s, in.name, in.evaluate.device); }; });
}

// Runs the command and sees its output off. A reader that has seen enough, such as head(1), ends it without a word.
int RunAndPrint(Session& session, const std::function<int(Session&)>& command) {
  int code = kExitTrouble, error = 0;
  try {
    code = command(session);
    if (std::fflush(stdout) != 0) error = errno;
  } catch (const std::system_error& thrown) {  // of fmt::print
    error = thrown.code().value();
  }
  if (error == 0 || error == EPIPE) return code;
  return ReportTrouble(ErrnoStatus(error, "cannot write the output"));
}

}  // namespace

int ClientMain(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app(kDescription, "fsr");
  app.footer(kExamples);
  app.require_subcommand(1);
  app.fallthrough();
  Invocation in;
  app.add_option("--server", in.session.server, "The coordinator, HOST:PORT; default: one on this machine")
      ->envname("FSR_SERVER");
  app.add_flag("--json", in.session.json, "Print the reply as JSON (the protocol's own field names)");
  app.add_option("--state", in.session.state_folder, "Where a local coordinator keeps its database");
  app.add_option("--prompts", in.session.prompts_folder, "Prompt templates instead of the bundled ones")
      ->check(CLI::ExistingDirectory);
  AddSearchCommands(app, in);
  AddReadingCommands(app, in);
  AddTaskCommands(app, in);
  // CLI11 would only say that a command is required.
  const auto named = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && std::as_const(app).get_subcommands(named).empty()) {
    fmt::print(stderr, "fsr: There is no command '{}'; `fsr --help` lists those there are.\n", argv[1]);
    return kExitTrouble;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitTrouble;
  }
  Session session(in.session);
  return RunAndPrint(session, in.command);
}

}  // namespace fsr
