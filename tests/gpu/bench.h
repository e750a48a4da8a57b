// The parts of gpu_bench: each prints a markdown table to standard output, and notes on its progress to standard error.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "fsr/v1/task.pb.h"
#include "worker/device/cuda/cuda_device.h"

namespace fsr {

struct BenchOptions {
  std::string device = "cuda:0";
  int count = 0;
  double seconds = 0;              // stop after so long, and say how far it came; 0: never
  std::vector<std::string> tasks;  // empty: the part's own choice
  std::string kernel;              // once: "baseline" or "tunable"
  std::string folder;              // where files are read or written
  uint64_t seed = 1;
  bool full = false;  // the task's own sizes instead of the simulator's
  bool only_simulated = false;
};

absl::Status BenchSelfComparison(const BenchOptions& options);
absl::Status BenchStages(const BenchOptions& options);
absl::Status BenchFaults(const BenchOptions& options);
absl::Status BenchSimulator(const BenchOptions& options);
absl::Status BenchApprox(const BenchOptions& options);
absl::Status BenchTable(const BenchOptions& options);
absl::Status BenchBandwidth(const BenchOptions& options);
absl::Status BenchCold(const BenchOptions& options);
absl::Status BenchOnce(const BenchOptions& options);
absl::Status BenchRate(const BenchOptions& options);

// The tasks named in the options, else those named in `standard`, else all bundled ones.
absl::StatusOr<std::vector<v1::Task>> ChosenTasks(const BenchOptions& options,
                                                  const std::vector<std::string>& standard = {});

// "cuda:0" opened in this process. INVALID_ARGUMENT if it is no GPU's name.
absl::StatusOr<std::unique_ptr<cuda::CudaDevice>> OpenGpu(const std::string& name);

// True once options.seconds have passed since it was made.
class Budget {
 public:
  explicit Budget(const BenchOptions& options) : seconds_(options.seconds), start_(SystemClock()->Now()) {}
  double Spent() const { return absl::ToDoubleSeconds(SystemClock()->Now() - start_); }
  bool Over() const { return seconds_ > 0 && Spent() > seconds_; }

 private:
  const double seconds_;
  const absl::Time start_;
};

// A markdown table of cells, a row at a time.
class MarkdownTable {
 public:
  explicit MarkdownTable(std::vector<std::string> header) : rows_{std::move(header)} {}
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void Print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// 0 where there are none.
double MedianOf(std::vector<double> values);

// Spearman's: Pearson's correlation of the ranks, ties at their mean. 0 where either side does not vary. REQUIRES:
// equal lengths.
double RankCorrelation(std::span<const double> a, std::span<const double> b);

}  // namespace fsr
