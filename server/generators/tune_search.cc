#include "server/generators/tune_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fsr {
namespace {

constexpr int kBestForNeighbours = 3;

// Of the right results the fastest, best first.
std::vector<Configuration> Best(const std::vector<TunedResult>& results, size_t count) {
  std::vector<const TunedResult*> right;
  for (const TunedResult& result : results) {
    if (result.latency_us) right.push_back(&result);
  }
  std::stable_sort(right.begin(), right.end(),
                   [](const TunedResult* a, const TunedResult* b) { return *a->latency_us < *b->latency_us; });
  std::vector<Configuration> best;
  for (size_t i = 0; i < std::min(count, right.size()); ++i) best.push_back(right[i]->at);
  return best;
}

template <typename Score>
Configuration Highest(const std::vector<Configuration>& pool, const Score& score) {
  const Configuration* highest = &pool.front();
  double highest_score = -std::numeric_limits<double>::infinity();
  for (const Configuration& at : pool) {
    const double s = score(at);
    if (s > highest_score) {
      highest_score = s;
      highest = &at;
    }
  }
  return *highest;
}

}  // namespace

TuneSearch::TuneSearch(std::vector<std::vector<int64_t>> values, std::function<bool(const Configuration&)> resolves)
    : values_(std::move(values)), resolves_(std::move(resolves)) {
  for (const std::vector<int64_t>& of_one : values_) {
    std::vector<int> by_rank(of_one.size());
    std::iota(by_rank.begin(), by_rank.end(), 0);
    std::stable_sort(by_rank.begin(), by_rank.end(),
                     [&](int a, int b) { return of_one[static_cast<size_t>(a)] < of_one[static_cast<size_t>(b)]; });
    std::vector<double> position(of_one.size());
    for (size_t rank = 0; rank < by_rank.size(); ++rank) {
      position[static_cast<size_t>(by_rank[rank])] =
          by_rank.size() < 2 ? 0 : static_cast<double>(rank) / static_cast<double>(by_rank.size() - 1);
    }
    by_rank_.push_back(std::move(by_rank));
    positions_.push_back(std::move(position));
    const auto count = static_cast<int64_t>(of_one.size());
    size_ = size_ > std::numeric_limits<int64_t>::max() / count ? std::numeric_limits<int64_t>::max() : size_ * count;
  }
}

std::optional<Configuration> TuneSearch::Propose(const std::vector<TunedResult>& results,
                                                 const std::set<Configuration>& known, SplitMix64& random) {
  const Configuration default_configuration(values_.size(), 0);
  if (known.count(default_configuration) == 0 && Resolves(default_configuration)) return default_configuration;
  const std::vector<Configuration> pool = Pool(results, known, random);
  if (pool.empty()) return std::nullopt;

  TuneSurrogate surrogate(positions_, results);
  const auto turn = known.size() % 4;
  if (known.size() < static_cast<size_t>(sample_count()) || surrogate.empty() || turn == 3) {
    return Farthest(pool, known, surrogate, random);
  }
  std::set<Configuration> with_result;
  for (const TunedResult& result : results) with_result.insert(result.at);
  for (const Configuration& at : known) {
    if (with_result.count(at) == 0) surrogate.Believe(at);
  }
  if (turn == 0) {
    std::vector<Configuration> neighbours;
    for (const Configuration& best : Best(results, kBestForNeighbours)) {
      for (Configuration& at : Neighbours(best)) {
        if (known.count(at) == 0 && Resolves(at)) neighbours.push_back(std::move(at));
      }
    }
    if (!neighbours.empty()) {
      return Highest(neighbours, [&](const Configuration& at) {
        return -surrogate.Predict(at).mean + 2 * std::log(surrogate.ChanceOfRight(at));
      });
    }
  }
  return Highest(pool, [&](const Configuration& at) {
    const double chance = surrogate.ChanceOfRight(at);
    return surrogate.ExpectedImprovement(at) * chance * chance;
  });
}

bool TuneSearch::Resolves(const Configuration& at) {
  const auto [entry, is_new] = resolved_.try_emplace(at, false);
  if (is_new) entry->second = resolves_(at);
  return entry->second;
}

std::vector<Configuration> TuneSearch::Pool(const std::vector<TunedResult>& results,
                                            const std::set<Configuration>& known, SplitMix64& random) {
  std::set<Configuration> pool;
  const auto add = [&](const Configuration& at) {
    if (known.count(at) == 0 && Resolves(at)) pool.insert(at);
  };
  for (const Configuration& best : Best(results, 2 * kBestForNeighbours)) {
    for (const Configuration& at : Neighbours(best)) add(at);
  }
  if (size_ <= kTuneEnumeratedMax) {
    // From a random start in a stride that meets every number once, so that a part of the space is a fair sample.
    const auto start = static_cast<int64_t>(random.Below(static_cast<uint64_t>(size_)));
    auto stride = static_cast<int64_t>(1 + random.Below(static_cast<uint64_t>(size_)));
    while (std::gcd(stride, size_) != 1) ++stride;
    for (int64_t i = 0; i < size_ && pool.size() < kTunePoolMax; ++i) add(At((start + i * stride) % size_));
  } else {
    for (int i = 0; i < 2 * kTunePoolMax && pool.size() < kTunePoolMax; ++i) {
      Configuration at;
      for (const std::vector<int64_t>& of_one : values_) at.push_back(static_cast<int>(random.Below(of_one.size())));
      add(at);
    }
  }
  return {pool.begin(), pool.end()};
}

Configuration TuneSearch::At(int64_t number) const {
  Configuration at;
  for (const std::vector<int64_t>& of_one : values_) {
    const auto count = static_cast<int64_t>(of_one.size());
    at.push_back(static_cast<int>(number % count));
    number /= count;
  }
  return at;
}

std::vector<Configuration> TuneSearch::Neighbours(const Configuration& at) const {
  std::vector<Configuration> neighbours;
  for (size_t i = 0; i < at.size(); ++i) {
    const std::vector<int>& by_rank = by_rank_[i];
    const auto rank = std::find(by_rank.begin(), by_rank.end(), at[i]) - by_rank.begin();
    for (const auto other : {rank - 1, rank + 1}) {
      if (other < 0 || other >= static_cast<std::ptrdiff_t>(by_rank.size())) continue;
      neighbours.push_back(at);
      neighbours.back()[i] = by_rank[static_cast<size_t>(other)];
    }
  }
  return neighbours;
}

double TuneSearch::Distance(const Configuration& a, const Configuration& b) const {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += std::abs(positions_[i][static_cast<size_t>(a[i])] - positions_[i][static_cast<size_t>(b[i])]);
  }
  return sum;
}

Configuration TuneSearch::Farthest(const std::vector<Configuration>& pool, const std::set<Configuration>& known,
                                   const TuneSurrogate& surrogate, SplitMix64& random) const {
  // Each proposal of a sample looks at some of the pool only, so that jobs with different seeds differ.
  constexpr size_t kLookedAt = 64;
  std::vector<Configuration> looked_at = pool;
  for (size_t i = 0; i < std::min(kLookedAt, looked_at.size()); ++i) {
    std::swap(looked_at[i], looked_at[i + random.Below(looked_at.size() - i)]);
  }
  looked_at.resize(std::min(kLookedAt, looked_at.size()));
  return Highest(looked_at, [&](const Configuration& at) {
    double nearest = std::numeric_limits<double>::max();
    for (const Configuration& other : known) nearest = std::min(nearest, Distance(at, other));
    return std::min(nearest, 1e6) * surrogate.ChanceOfRight(at);
  });
}

}  // namespace fsr
