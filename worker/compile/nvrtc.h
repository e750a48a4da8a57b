// NVIDIA's run-time compiler, opened at run time: a build needs only its header.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fsr/v1/runner.pb.h"
#include "worker/compile/toolkit.h"

namespace fsr {

// Not safe for concurrent use. Runs the compiler in this process, without limits: for disposable children only.
class Nvrtc {
 public:
  // UNAVAILABLE if the library cannot be opened, or lacks a function.
  static absl::StatusOr<std::unique_ptr<Nvrtc>> Open(const Toolkit& toolkit);
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;  // a process has one
  Nvrtc& operator=(const Nvrtc&) = delete;

  // "13.0".
  const std::string& version() const { return version_; }

  v1::CompileReply Compile(const v1::CompileJob& job);

 private:
  struct Api;
  class Program;
  Nvrtc(std::unique_ptr<Api> api, Toolkit toolkit);

  // The name to compile for: `architecture` itself, or the nearest that this NVRTC knows ("compute_121").
  std::string Target(const std::string& architecture, bool want_cubin) const;
  v1::CompileReply CompileChecked(const v1::CompileJob& job);
  // What a failed compile with `options` says. Asked for its figures, ptxas leaves out by which limit of the
  // architecture the source fails: then it is asked again without.
  std::string FailureLog(const v1::CompileJob& job, std::vector<std::string> options, std::string log) const;
  void DescribeFailure(int result, const v1::CompileJob& job, const std::string& raw_log,
                       v1::CompileReply* reply) const;

  std::unique_ptr<Api> api_;
  Toolkit toolkit_;
  std::string version_;
  int major_ = 0;
};

}  // namespace fsr
