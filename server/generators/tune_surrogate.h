// What the configurations tried so far say about those not tried: a small Gaussian process over log-latency.
//
// The covariance is half additive (each tunable's value has an effect of its own, neighbouring values similar ones) and
// half a product (what only combinations do). Failed configurations say which values do not go together.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace fsr {

// For each tunable the index of its value, 0 being the default.
using Configuration = std::vector<int>;

// A configuration that was evaluated; without latency it failed.
struct TunedResult {
  Configuration at;
  std::optional<double> latency_us;
};

// Fitting costs the cube of the number of points.
inline constexpr int kSurrogatePointsMax = 128;

// Where each value of each tunable lies, in [0, 1]: its rank among the values of that tunable.
using Positions = std::vector<std::vector<double>>;

class TuneSurrogate {
 public:
  // Of more than kSurrogatePointsMax right results the fastest half and the latest half are used.
  // REQUIRES: `positions` outlives it.
  TuneSurrogate(const Positions& positions, const std::vector<TunedResult>& results);

  bool empty() const { return points_.empty(); }

  struct Prediction {
    double mean = 0;  // of log(latency), in standard deviations of what was seen, below 0 is faster than average
    double deviation = 1;
  };
  Prediction Predict(const Configuration& at) const;

  // How much less than the best of the known log-latencies is to be expected at `at`, never below 0.
  double ExpectedImprovement(const Configuration& at) const;

  // 1 where nothing speaks against `at`; falls with every failure of a value, or of a pair of values, that it has and
  // rises with every success.
  double ChanceOfRight(const Configuration& at) const;

  // Pretends that `at` was measured as predicted, so that the next proposal of the same round lies elsewhere.
  void Believe(const Configuration& at);

 private:
  double Covariance(const Configuration& a, const Configuration& b) const;
  // Grows the Cholesky factor by the last point of points_.
  void AddRow();
  void Solve();

  const Positions& positions_;
  std::vector<Configuration> points_;
  std::vector<double> values_;               // standardised
  std::vector<std::vector<double>> factor_;  // lower triangle
  std::vector<double> weights_;              // inverse covariance times values_
  double best_ = 0;

  struct Tally {
    int right = 0, failed = 0;
  };
  // By (tunable, value) twice; a single value is the pair with itself.
  std::map<std::pair<std::pair<int, int>, std::pair<int, int>>, Tally> pairs_;
};

}  // namespace fsr
