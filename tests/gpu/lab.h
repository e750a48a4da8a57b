// A warm worker's evaluations without a coordinator, and the bundled tasks: what the programs of this folder stand on.
// Works from a build folder and from an unpacked bundle: fsr-worker lies beside the running program.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/task.pb.h"
#include "worker/judge/judge.h"
#include "worker/runner/evaluate.h"

namespace fsr {

// By name. NOT_FOUND if there is no data folder.
absl::StatusOr<std::vector<v1::Task>> BundledTasks();
absl::StatusOr<v1::Task> BundledTask(const std::string& name);

// The same task, measured on every device on what the simulator measures.
v1::Task WithSimulatedSizes(v1::Task task);

// A source with a comment that makes it another one for the compile cache.
std::string Renewed(const std::string& source, int number);

// An evaluation of `source`, side by side with `reference` as the baseline; empty: without one.
v1::EvaluationSpec SpecOf(const v1::Task& task, const std::string& source, const std::string& reference);

// Not safe for concurrent use.
class Lab {
 public:
  // Starts the children for `device` ("cuda:0"); UNAVAILABLE says what is missing.
  static absl::StatusOr<std::unique_ptr<Lab>> Open(const std::string& device);
  ~Lab();
  Lab(const Lab&) = delete;  // owns a folder
  Lab& operator=(const Lab&) = delete;

  struct Timed {
    v1::Evaluation evaluation;
    double seconds = 0;  // from the source to the result
  };
  absl::StatusOr<Timed> Evaluate(const v1::EvaluationSpec& spec);

  Evaluator& evaluator() { return *evaluator_; }

 private:
  Lab() = default;

  std::filesystem::path cache_;
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<Evaluator> evaluator_;
};

// Compiles kernel files one by one, without a cache, for devices that this process opens itself.
std::unique_ptr<Compiler> NewLabCompiler();

// INVALID_ARGUMENT if the source does not compile; the message holds the compiler's log.
absl::StatusOr<LoadableKernel> CompileFor(Compiler& compiler, const v1::Task& task, const std::string& source,
                                          const std::string& architecture);

}  // namespace fsr
