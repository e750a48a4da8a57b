// Which configurations of a tunable kernel to try next, from what was measured so far.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/random.h"
#include "server/generators/tune_surrogate.h"

namespace fsr {

// Configurations that a proposal is chosen from: all that are left if they are fewer, else a sample.
inline constexpr int kTunePoolMax = 1500;
// Spaces up to this size are gone through to the end; larger ones are sampled.
inline constexpr int64_t kTuneEnumeratedMax = 1 << 16;

// Begins with the default configuration and a sample that fills the space; then, by turns, neighbours of the best (one
// step in one tunable), what the surrogate expects most of, and what lies farthest from everything tried.
class TuneSearch {
 public:
  // `values`: for each tunable its values, the default first. `resolves`: whether a configuration can be launched at
  // all; called at most once for each.
  TuneSearch(std::vector<std::vector<int64_t>> values, std::function<bool(const Configuration&)> resolves);

  // Never one of `known`, which are those proposed before, with a result or without. nullopt: nothing is left.
  std::optional<Configuration> Propose(const std::vector<TunedResult>& results, const std::set<Configuration>& known,
                                       SplitMix64& random);

  // The number of configurations; saturates.
  int64_t size() const { return size_; }
  // How many proposals fill the space before results are used.
  int sample_count() const { return 2 * static_cast<int>(values_.size()) + 2; }

 private:
  bool Resolves(const Configuration& at);
  std::vector<Configuration> Pool(const std::vector<TunedResult>& results, const std::set<Configuration>& known,
                                  SplitMix64& random);
  Configuration At(int64_t number) const;
  std::vector<Configuration> Neighbours(const Configuration& at) const;
  double Distance(const Configuration& a, const Configuration& b) const;
  // The one of `pool` that lies farthest from `known`, weighted with its chance of being right.
  Configuration Farthest(const std::vector<Configuration>& pool, const std::set<Configuration>& known,
                         const TuneSurrogate& surrogate, SplitMix64& random) const;

  const std::vector<std::vector<int64_t>> values_;
  const std::function<bool(const Configuration&)> resolves_;
  Positions positions_;
  std::vector<std::vector<int>> by_rank_;  // for each tunable the indexes of its values, smallest value first
  int64_t size_ = 1;
  std::map<Configuration, bool> resolved_;
};

}  // namespace fsr
