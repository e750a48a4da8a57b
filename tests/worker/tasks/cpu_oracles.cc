#include "tests/worker/tasks/cpu_oracles.h"

#include <cmath>
#include <numeric>

namespace fsr {
namespace {

using Outputs = std::map<std::string, Numbers>;

size_t Size(const CaseNumbers& c, const std::string& name) { return static_cast<size_t>(c.sizes.at(name)); }

double Sum(const Numbers& numbers) {
  return static_cast<double>(std::accumulate(numbers.begin(), numbers.end(), 0.0L));
}

Outputs DotProduct(const CaseNumbers& c) {
  const Numbers &a = c.inputs.at("a"), &b = c.inputs.at("b");
  return {{"output", {static_cast<double>(std::inner_product(a.begin(), a.end(), b.begin(), 0.0L))}}};
}

Outputs Histogram(const CaseNumbers& c) {
  Numbers counts(Size(c, "bins"));
  for (const double value : c.inputs.at("input")) ++counts.at(static_cast<size_t>(value));
  return {{"output", counts}};
}

Outputs Matmul(const CaseNumbers& c) {
  const size_t m = Size(c, "m"), n = Size(c, "n"), k = Size(c, "k");
  const Numbers &a = c.inputs.at("a"), &b = c.inputs.at("b");
  Numbers product(m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t l = 0; l < k; ++l) {
      for (size_t j = 0; j < n; ++j) product[i * n + j] += a[i * k + l] * b[l * n + j];
    }
  }
  return {{"c", product}};
}

Outputs MonteCarlo(const CaseNumbers& c) {
  const double width = c.scalars.at("upper") - c.scalars.at("lower");
  return {{"output", {width / static_cast<double>(Size(c, "n")) * Sum(c.inputs.at("samples"))}}};
}

Outputs PrefixSum(const CaseNumbers& c) {
  Numbers sums;
  long double sum = 0;
  for (const double value : c.inputs.at("input")) sums.push_back(static_cast<double>(sum += value));
  return {{"output", sums}};
}

Outputs Reduction(const CaseNumbers& c) { return {{"output", {Sum(c.inputs.at("input"))}}}; }

Outputs Sigmoid(const CaseNumbers& c) {
  Numbers values;
  for (const double x : c.inputs.at("input")) values.push_back(0.5 + 0.5 * std::tanh(x / 2));
  return {{"output", values}};
}

Outputs Transpose(const CaseNumbers& c) {
  const size_t rows = Size(c, "rows"), cols = Size(c, "cols");
  const Numbers& input = c.inputs.at("input");
  Numbers output;
  for (size_t col = 0; col < cols; ++col) {
    for (size_t row = 0; row < rows; ++row) output.push_back(input[row * cols + col]);
  }
  return {{"output", output}};
}

}  // namespace

const std::map<std::string, CpuOracle>& CpuOracles() {
  static const auto* oracles = new std::map<std::string, CpuOracle>{
      {"dot_product", DotProduct}, {"histogram", Histogram}, {"matmul", Matmul},   {"monte_carlo", MonteCarlo},
      {"prefix_sum", PrefixSum},   {"reduction", Reduction}, {"sigmoid", Sigmoid}, {"transpose", Transpose},
  };
  return *oracles;
}

}  // namespace fsr
