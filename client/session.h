// What every command needs: the server it talks to, how it prints, and where tasks lie.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/local_stack.h"
#include "client/search_client.h"
#include "google/protobuf/message.h"

namespace fsr {

// Exit codes of the program.
inline constexpr int kExitOk = 0;
inline constexpr int kExitNegative = 1;  // the answer is no: a kernel that is not right, a job that found nothing
inline constexpr int kExitTrouble = 2;   // wrong usage, or trouble of ours

// The options that every command takes.
struct SessionOptions {
  std::string server;  // HOST:PORT; empty: a local coordinator
  bool json = false;
  std::string state_folder;    // empty: LocalStack::DefaultStateFolder
  std::string prompts_folder;  // empty: the server's own
};

class Session {
 public:
  explicit Session(SessionOptions options) : options_(std::move(options)) {}

  bool json() const { return options_.json; }
  bool local() const { return options_.server.empty(); }
  const SessionOptions& options() const { return options_; }
  std::filesystem::path StateFolder() const;

  // Connects, or starts the local coordinator, on first use.
  absl::StatusOr<SearchClient*> Client();
  // Local: starts a worker for `device` unless there is one; remote: nothing. Gives the device kind to ask for.
  absl::StatusOr<std::string> DeviceKind(const std::string& device);

 private:
  SessionOptions options_;
  std::unique_ptr<LocalStack> stack_;
  std::unique_ptr<SearchClient> remote_;
};

// Prints `message` as JSON with the proto's own field names, one object, indented.
void PrintJson(const google::protobuf::Message& message);
// The same on one line.
void PrintJsonLine(const google::protobuf::Message& message);

// The folder of a task: as given, else under the data folder, else under the data folder's tasks/.
absl::StatusOr<std::filesystem::path> FindTaskFolder(const std::string& name_or_path);

// "transpose-7" and "jobs/transpose-7" are the same job; "transpose-7/3" is "jobs/transpose-7/candidates/3".
std::string FullJobName(const std::string& name);
std::string FullCandidateName(const std::string& name);

// Says what went wrong on standard error and gives kExitTrouble.
int ReportTrouble(const absl::Status& status);

}  // namespace fsr
