#include "server/generators/tune_surrogate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fsr {
namespace {

constexpr double kLengthScale = 0.5;     // of positions, which lie in [0, 1]
constexpr double kNoiseVariance = 1e-3;  // of standardised values: measurements repeat well

// Matérn 3/2: neighbours alike, kinks allowed.
double Likeness(double distance) {
  const double scaled = std::sqrt(3.0) * distance / kLengthScale;
  return (1 + scaled) * std::exp(-scaled);
}

std::vector<const TunedResult*> PointsToUse(const std::vector<TunedResult>& results) {
  std::vector<const TunedResult*> right;
  for (const TunedResult& result : results) {
    if (result.latency_us) right.push_back(&result);
  }
  if (right.size() <= kSurrogatePointsMax) return right;
  constexpr auto kHalf = kSurrogatePointsMax / 2;
  const std::vector<const TunedResult*> latest(right.end() - kHalf, right.end());
  right.resize(right.size() - kHalf);
  std::stable_sort(right.begin(), right.end(),
                   [](const TunedResult* a, const TunedResult* b) { return *a->latency_us < *b->latency_us; });
  right.resize(kHalf);
  right.insert(right.end(), latest.begin(), latest.end());
  return right;
}

}  // namespace

TuneSurrogate::TuneSurrogate(const Positions& positions, const std::vector<TunedResult>& results)
    : positions_(positions) {
  const std::vector<const TunedResult*> used = PointsToUse(results);
  double sum = 0, sum_of_squares = 0;
  for (const TunedResult* result : used) {
    values_.push_back(std::log(*result->latency_us));
    sum += values_.back();
  }
  const double mean = used.empty() ? 0 : sum / static_cast<double>(used.size());
  for (const double value : values_) sum_of_squares += (value - mean) * (value - mean);
  const double deviation =
      used.size() < 2 ? 1 : std::max(1e-6, std::sqrt(sum_of_squares / static_cast<double>(used.size())));
  for (double& value : values_) value = (value - mean) / deviation;
  best_ = values_.empty() ? 0 : *std::min_element(values_.begin(), values_.end());
  for (const TunedResult* result : used) {
    points_.push_back(result->at);
    AddRow();
  }
  Solve();

  for (const TunedResult& result : results) {
    for (size_t i = 0; i < result.at.size(); ++i) {
      for (size_t j = i; j < result.at.size(); ++j) {
        Tally& tally = pairs_[{{static_cast<int>(i), result.at[i]}, {static_cast<int>(j), result.at[j]}}];
        ++(result.latency_us ? tally.right : tally.failed);
      }
    }
  }
}

double TuneSurrogate::Covariance(const Configuration& a, const Configuration& b) const {
  double sum = 0, product = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const std::vector<double>& position = positions_[i];
    const double likeness =
        Likeness(std::abs(position[static_cast<size_t>(a[i])] - position[static_cast<size_t>(b[i])]));
    sum += likeness;
    product *= likeness;
  }
  return 0.5 * sum / static_cast<double>(std::max<size_t>(a.size(), 1)) + 0.5 * product;
}

void TuneSurrogate::AddRow() {
  const size_t n = points_.size() - 1;
  std::vector<double> row(n + 1);
  double diagonal = Covariance(points_[n], points_[n]) + kNoiseVariance;
  for (size_t j = 0; j < n; ++j) {
    double sum = Covariance(points_[n], points_[j]);
    for (size_t k = 0; k < j; ++k) sum -= row[k] * factor_[j][k];
    row[j] = sum / factor_[j][j];
    diagonal -= row[j] * row[j];
  }
  row[n] = std::sqrt(std::max(diagonal, kNoiseVariance / 2));
  factor_.push_back(std::move(row));
}

void TuneSurrogate::Solve() {
  weights_ = values_;
  const size_t n = points_.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) weights_[i] -= factor_[i][k] * weights_[k];
    weights_[i] /= factor_[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) weights_[i] -= factor_[k][i] * weights_[k];
    weights_[i] /= factor_[i][i];
  }
}

TuneSurrogate::Prediction TuneSurrogate::Predict(const Configuration& at) const {
  Prediction prediction;
  double variance = Covariance(at, at);
  std::vector<double> solved(points_.size());
  for (size_t i = 0; i < points_.size(); ++i) {
    const double covariance = Covariance(at, points_[i]);
    prediction.mean += covariance * weights_[i];
    solved[i] = covariance;
    for (size_t k = 0; k < i; ++k) solved[i] -= factor_[i][k] * solved[k];
    solved[i] /= factor_[i][i];
    variance -= solved[i] * solved[i];
  }
  prediction.deviation = std::sqrt(std::max(variance, 1e-9));
  return prediction;
}

double TuneSurrogate::ExpectedImprovement(const Configuration& at) const {
  const Prediction prediction = Predict(at);
  const double z = (best_ - prediction.mean) / prediction.deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI);
  const double below = 0.5 * std::erfc(-z / std::sqrt(2.0));
  return std::max(0.0, prediction.deviation * (z * below + density));
}

double TuneSurrogate::ChanceOfRight(const Configuration& at) const {
  double chance = 1;
  for (size_t i = 0; i < at.size(); ++i) {
    for (size_t j = i; j < at.size(); ++j) {
      const auto found = pairs_.find({{static_cast<int>(i), at[i]}, {static_cast<int>(j), at[j]}});
      if (found == pairs_.end()) continue;
      const Tally& tally = found->second;
      chance = std::min(chance, (1.0 + tally.right) / (1.0 + tally.right + tally.failed));
    }
  }
  return chance;
}

void TuneSurrogate::Believe(const Configuration& at) {
  const double mean = Predict(at).mean;
  points_.push_back(at);
  values_.push_back(mean);
  AddRow();
  Solve();
}

}  // namespace fsr
