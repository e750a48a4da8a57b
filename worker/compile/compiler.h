// CUDA source to PTX and cubin, with limits, in processes that can be killed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/device/device.h"

namespace fsr {

struct CompileRequest {
  std::string source;
  std::string file_name = "candidate.cu";  // in messages
  std::string architecture;                // "sm_90a"
  std::vector<std::string> kernels;        // names as launched, for lowered_names
  std::vector<std::string> options;        // -D… and allowed options, from CompileDefinitions
  bool want_cubin = true;
  absl::Duration time_limit = absl::Seconds(30);
};

// A kernel that does not compile is a result: `kernel` is empty and `log` says why.
struct CompileResult {
  bool ok = false;
  CompiledKernel kernel = {};  // only if ok
  std::string log = {};        // compiler text, cut to kCompileLogBytesMax in the middle
  bool timed_out = false;      // or used too much memory: `log` says which limit
  // Set if the file compiles but a launched name is no kernel of it (`ok` is then false): a sentence that says which
  // kernels there are.
  std::string launch_error = {};
  double seconds = 0;
};

inline constexpr int kCompileLogBytesMax = 64 * 1024;

// One small interface; decorators add caching and the process pool. Safe for concurrent use.
class Compiler {
 public:
  virtual ~Compiler() = default;
  // UNAVAILABLE if there is no compiler on this machine (the message says what to install).
  virtual absl::StatusOr<CompileResult> Compile(const CompileRequest& request) = 0;
};

// Compiles in child processes (`fsr-worker --role=compile`), at most `process_count` at a time; a child that exceeds a
// limit is killed and replaced. `worker_program` is the path of fsr-worker.
std::unique_ptr<Compiler> NewProcessCompiler(std::string worker_program, int process_count);

// Answers from `folder` what `inner` has compiled before. Content-addressed: source, options, architecture, compiler
// version. Bounded by `bytes_max`, oldest use first out. A full disk only costs the cache.
std::unique_ptr<Compiler> NewCachingCompiler(std::unique_ptr<Compiler> inner, std::string folder, uint64_t bytes_max);

}  // namespace fsr
