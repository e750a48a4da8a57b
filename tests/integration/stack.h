// Real fsrd and fsr-worker processes on loopback, with a database in a folder of their own, to be killed at will.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "client/search_client.h"
#include "common/subprocess.h"
#include "fsr/v1/search.pb.h"

namespace fsr {

class Stack {
 public:
  Stack();
  ~Stack();
  Stack(const Stack&) = delete;  // owns processes and a folder
  Stack& operator=(const Stack&) = delete;

  // The first start takes a free port, later ones the same again. Fails the test if it does not come up.
  void StartCoordinator();
  void KillCoordinator();  // -9
  // Returns its index. The compile cache is shared.
  size_t StartWorker(const std::string& device = "sim:h200");
  void KillWorker(size_t index);     // -9
  void RestartWorker(size_t index);  // under the same id

  SearchClient& client() { return *client_; }
  const std::string& address() const { return address_; }
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path database() const { return folder_ / "fsr.db"; }

  // Polls until the job has ended, over restarts. Fails the test after `seconds`.
  v1::Job AwaitEnd(const std::string& job, int seconds = 120);

 private:
  struct TestWorker {
    std::string id, device;
    std::unique_ptr<Subprocess> process;
  };
  void Launch(TestWorker& worker);

  std::filesystem::path folder_;
  std::string address_;
  std::unique_ptr<SearchClient> client_;
  std::unique_ptr<Subprocess> coordinator_;
  std::vector<TestWorker> workers_;
};

// The bundled transpose with small sizes, so that an evaluation takes tens of milliseconds.
v1::Task SmallTranspose();

// A job over it: `rounds` of `candidates`, with the generator that needs no model.
v1::CreateJobRequest TuneJob(int rounds, int candidates, uint64_t seed);

// What one run of the fsr program gave.
struct ProgramResult {
  int exit_code = -1;
  std::string out, err;
};
ProgramResult RunProgram(const std::vector<std::string>& arguments, const std::filesystem::path& state_folder);

// A fresh folder below the system's temporary one.
std::filesystem::path NewFolder();

}  // namespace fsr
