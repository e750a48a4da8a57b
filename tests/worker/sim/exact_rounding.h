// Whether a floating-point result is the exact value, correctly rounded. The exact value is never computed: it is only
// asked on which side of the result, its neighbours and the midpoints it lies, in integer arithmetic of any width.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace fsr::sim {

// A sum of products of doubles, exact: a fixed-point number wide enough for any of them.
class ExactSum {
 public:
  // REQUIRES: a and b are finite.
  ExactSum& Add(double a, double b = 1);
  int Sign() const;

 private:
  static constexpr int kDigitBits = 32, kDigits = 140, kLowestExponent = -2304;
  std::array<int64_t, kDigits> digits_{};
};

// A number as a product, since the number above the largest double is none.
struct Product {
  double a, b = 1;
};

struct FloatFormat {
  int exponent_bits, fraction_bits;
  uint64_t largest;  // the magnitude bits of the largest finite number
};
FloatFormat Ieee(int exponent_bits, int fraction_bits);

// Of magnitude bits; those of infinity give what would be the next number.
Product MagnitudeOf(const FloatFormat& format, uint64_t bits);

enum class Mode { kNearestEven, kZero, kDown, kUp, kNearestAway };

// side(x) is the sign of (exact - x), side(x, y) the sign of (2 * exact - x - y), for x and y of the result's sign.
struct ExactValue {
  std::function<int(Product)> side;
  std::function<int(Product, Product)> twice_side;
};
// sum of products
ExactValue SumOf(std::function<ExactSum()> sum);
ExactValue QuotientOf(double a, double b);
ExactValue RootOf(double a);

bool IsRounded(const FloatFormat& format, uint64_t result, Mode mode, const ExactValue& exact);

}  // namespace fsr::sim
