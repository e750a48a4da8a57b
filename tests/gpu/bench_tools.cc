#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/status_macros.h"
#include "tests/gpu/bench.h"
#include "tests/gpu/lab.h"
#include "worker/meter/statistics.h"

namespace fsr {
namespace {

std::vector<double> Ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return ranks;
}

}  // namespace

absl::StatusOr<std::vector<v1::Task>> ChosenTasks(const BenchOptions& options,
                                                  const std::vector<std::string>& standard) {
  const std::vector<std::string>& names = options.tasks.empty() ? standard : options.tasks;
  if (names.empty()) return BundledTasks();
  std::vector<v1::Task> tasks;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(v1::Task task, BundledTask(name));
    tasks.push_back(std::move(task));
  }
  return tasks;
}

absl::StatusOr<std::unique_ptr<cuda::CudaDevice>> OpenGpu(const std::string& name) {
  const bool known = name.starts_with("cuda:") && name.size() > 5 && name.size() < 9 &&
                     std::all_of(name.begin() + 5, name.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!known) return absl::InvalidArgumentError(fmt::format("\"{}\" is no GPU; use cuda:N.", name));
  return cuda::CudaDevice::Open(std::stoi(name.substr(5)));
}

void MarkdownTable::Print() const {
  for (size_t i = 0; i < rows_.size(); ++i) {
    fmt::print("| {} |\n", fmt::join(rows_[i], " | "));
    // The first column is a name, the others are figures.
    if (i == 0) fmt::print("|---|{}\n", fmt::join(std::vector<std::string>(rows_[0].size() - 1, "---:|"), ""));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

double MedianOf(std::vector<double> values) { return values.empty() ? 0 : Quantile(values, 0.5); }

double RankCorrelation(std::span<const double> a, std::span<const double> b) {
  if (a.empty()) return 0;
  const std::vector<double> x = Ranks(a), y = Ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace fsr
