#include "server/generators/tune_search.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace fsr {
namespace {

// A landscape like that of a tiled kernel: tile and block sizes, an unroll factor, padding, a vector width. Vectors
// want padding (an interaction), large blocks of large tiles fail, and each tunable has its own best value.
struct Landscape {
  std::vector<std::vector<int64_t>> values = {
      {32, 8, 16, 64, 128}, {8, 1, 2, 4, 16, 32}, {1, 2, 4, 8}, {0, 1, 2, 4}, {1, 2, 4}};
  double best_tile = 64, best_rows = 4, best_unroll = 4;

  std::optional<double> Latency(const Configuration& at) const {
    const auto value = [&](size_t i) { return static_cast<double>(values[i][static_cast<size_t>(at[i])]); };
    const double tile = value(0), rows = value(1), unroll = value(2), pad = value(3), vector = value(4);
    if (tile * rows > 1024) return std::nullopt;
    const auto off = [](double a, double best) { return std::pow(std::log2(a / best), 2); };
    double latency = 10 * (1 + 0.2 * off(tile, best_tile)) * (1 + 0.1 * off(rows, best_rows));
    latency *= 1 + 0.05 * off(unroll, best_unroll);
    latency *= pad == vector ? 0.7 : 1.0;  // bank conflicts but for a padding that fits the vectors
    latency *= 1 + 0.15 * (4 - vector);
    return latency;
  }
  int64_t size() const {
    int64_t product = 1;
    for (const auto& of_one : values) product *= static_cast<int64_t>(of_one.size());
    return product;
  }
  std::vector<Configuration> All() const {
    std::vector<Configuration> all;
    for (int64_t number = 0; number < size(); ++number) {
      Configuration at;
      int64_t rest = number;
      for (const auto& of_one : values) {
        at.push_back(static_cast<int>(rest % static_cast<int64_t>(of_one.size())));
        rest /= static_cast<int64_t>(of_one.size());
      }
      all.push_back(at);
    }
    return all;
  }
  double Optimum() const {
    double optimum = 1e300;
    for (const Configuration& at : All()) optimum = std::min(optimum, Latency(at).value_or(1e300));
    return optimum;
  }
};

bool Always(const Configuration&) { return true; }

// Rounds of `per_round` proposals, results known at the end of each round.
struct Run {
  int evaluations_to_optimum = 0;
  int failures = 0;
};
Run Search(const Landscape& landscape, uint64_t seed, int per_round = 8) {
  const double optimum = landscape.Optimum();
  TuneSearch search(landscape.values, Always);
  SplitMix64 random(seed);
  std::set<Configuration> known;
  std::vector<TunedResult> results;
  Run run;
  for (double best = 1e300; best > optimum * 1.0001;) {
    std::vector<TunedResult> of_round;
    for (int i = 0; i < per_round; ++i) {
      const auto at = search.Propose(results, known, random);
      REQUIRE(at);
      REQUIRE(known.insert(*at).second);
      of_round.push_back({*at, landscape.Latency(*at)});
      run.failures += !of_round.back().latency_us;
      best = std::min(best, of_round.back().latency_us.value_or(1e300));
      ++run.evaluations_to_optimum;
      if (best <= optimum * 1.0001) break;
    }
    results.insert(results.end(), of_round.begin(), of_round.end());
  }
  return run;
}

TEST_CASE("the optimum is found with far fewer evaluations than by chance") {
  // By chance, without repetition, the one optimum comes after half of the space on average.
  double evaluations = 0, failures = 0;
  constexpr int kSeeds = 20;
  const Landscape landscape;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Run run = Search(landscape, seed);
    evaluations += run.evaluations_to_optimum;
    failures += run.failures;
  }
  const double mean = evaluations / kSeeds;
  const double by_chance = static_cast<double>(landscape.size() + 1) / 2;
  INFO("mean " << mean << " of " << landscape.size() << " configurations, failures " << failures / kSeeds);
  CHECK(mean < by_chance / 10);

  // Failures are learnt from: their share stays well below that of the space.
  double failing = 0;
  for (const Configuration& at : landscape.All()) failing += !landscape.Latency(at);
  CHECK(failures / evaluations < 0.6 * failing / static_cast<double>(landscape.size()));
}

TEST_CASE("another landscape is searched as well: nothing is fitted to one optimum") {
  for (const auto& [tile, rows, unroll] : {std::tuple{16.0, 8.0, 1.0}, {128.0, 2.0, 8.0}, {8.0, 32.0, 2.0}}) {
    Landscape landscape;
    landscape.best_tile = tile;
    landscape.best_rows = rows;
    landscape.best_unroll = unroll;
    double evaluations = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) evaluations += Search(landscape, seed).evaluations_to_optimum;
    INFO("tile " << tile << ": mean " << evaluations / 10);
    CHECK(evaluations / 10 < static_cast<double>(landscape.size()) / 2 / 4);
  }
}

TEST_CASE("the default comes first, nothing comes twice, and the end is the end of the space") {
  TuneSearch search({{32, 16}, {4, 2, 1}}, [](const Configuration& at) { return at != Configuration{1, 2}; });
  SplitMix64 random(5);
  std::set<Configuration> known;
  std::vector<TunedResult> results;
  while (const auto at = search.Propose(results, known, random)) {
    if (known.empty()) CHECK(*at == Configuration{0, 0});
    CHECK(*at != Configuration{1, 2});
    REQUIRE(known.insert(*at).second);
    results.push_back({*at, 1.0 + at->at(0)});
  }
  CHECK(known.size() == 5);
}

TEST_CASE("a default that cannot be launched is left out, and a space without any that can is at its end at once") {
  TuneSearch some({{1, 2, 3}}, [](const Configuration& at) { return at[0] == 2; });
  SplitMix64 random(1);
  CHECK(some.Propose({}, {}, random) == Configuration{2});
  TuneSearch none({{1, 2, 3}, {1, 2}}, [](const Configuration&) { return false; });
  CHECK(none.Propose({}, {}, random) == std::nullopt);
}

TEST_CASE("a space too large to go through is searched by samples") {
  std::vector<std::vector<int64_t>> values(16, std::vector<int64_t>(64));
  for (auto& of_one : values) {
    for (size_t i = 0; i < of_one.size(); ++i) of_one[i] = static_cast<int64_t>(i) + 1;
  }
  TuneSearch search(values, Always);
  CHECK(search.size() == std::numeric_limits<int64_t>::max());
  SplitMix64 random(3);
  std::set<Configuration> known;
  std::vector<TunedResult> results;
  const auto latency = [](const Configuration& at) {  // each tunable is best at its middle
    double sum = 1;
    for (const int index : at) sum += std::abs(index - 32);
    return sum;
  };
  for (int i = 0; i < 80; ++i) {
    const auto at = search.Propose(results, known, random);
    REQUIRE(at);
    REQUIRE(known.insert(*at).second);
    results.push_back({*at, latency(*at)});
  }
  double of_sample = 1e300, later = 1e300;
  for (size_t i = 0; i < results.size(); ++i) {
    double& best = i < static_cast<size_t>(search.sample_count()) ? of_sample : later;
    best = std::min(best, *results[i].latency_us);
  }
  CHECK(later < 0.8 * of_sample);
}

TEST_CASE("the same seed and results give the same proposals, another seed others") {
  const Landscape landscape;
  const auto first_eight = [&](uint64_t seed) {
    TuneSearch search(landscape.values, Always);
    SplitMix64 random(seed);
    std::set<Configuration> known;
    for (int i = 0; i < 8; ++i) known.insert(*search.Propose({}, known, random));
    return known;
  };
  CHECK(first_eight(1) == first_eight(1));
  CHECK(first_eight(1) != first_eight(2));
}

TEST_CASE("the surrogate agrees with what it was told and doubts what lies far from it") {
  const Positions positions = {{0, 0.5, 1}, {0, 0.5, 1}};
  const TuneSurrogate surrogate(positions, {{{0, 0}, 10.0}, {{0, 1}, 20.0}, {{1, 0}, 20.0}, {{2, 2}, std::nullopt}});
  CHECK(surrogate.Predict({0, 0}).mean < surrogate.Predict({0, 1}).mean);
  CHECK(surrogate.Predict({0, 0}).deviation < 0.1);
  CHECK(surrogate.Predict({2, 2}).deviation > 0.4);
  CHECK(surrogate.ChanceOfRight({0, 0}) == 1);
  CHECK(surrogate.ChanceOfRight({2, 2}) == Approx(0.5));
  CHECK(surrogate.ChanceOfRight({2, 0}) == Approx(0.5));
}

TEST_CASE("more is expected where a trend leads than where it came from") {
  const Positions positions = {{0, 0.25, 0.5, 0.75, 1}};
  const TuneSurrogate surrogate(positions, {{{0}, 40.0}, {{1}, 20.0}, {{2}, 10.0}});
  CHECK(surrogate.ExpectedImprovement({3}) > 100 * surrogate.ExpectedImprovement({0}));
  CHECK(surrogate.ExpectedImprovement({3}) > surrogate.ExpectedImprovement({2}));
}

TEST_CASE("a proposal that is under way is believed, so that its twin of the same round lies elsewhere") {
  const Positions positions = {{0, 0.25, 0.5, 0.75, 1}};
  TuneSurrogate surrogate(positions, {{{0}, 40.0}, {{1}, 20.0}, {{2}, 10.0}});
  const double before = surrogate.Predict({3}).deviation;
  surrogate.Believe({3});
  CHECK(surrogate.Predict({3}).deviation < 0.2 * before);
}

}  // namespace
}  // namespace fsr
