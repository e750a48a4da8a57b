#include "tests/worker/sim/exact_rounding.h"

#include <cmath>

namespace fsr::sim {
namespace {

// value = significand * 2^exponent, both integers.
int64_t Significand(double value, int& exponent) {
  const double fraction = std::frexp(value, &exponent);
  exponent -= 53;
  return static_cast<int64_t>(std::ldexp(fraction, 53));
}

Product Negated(Product p) { return {-p.a, p.b}; }

}  // namespace

ExactSum& ExactSum::Add(double a, double b) {
  int exponent_a = 0, exponent_b = 0;
  const __int128 product = static_cast<__int128>(Significand(a, exponent_a)) * Significand(b, exponent_b);
  if (product == 0) return *this;
  const int position = exponent_a + exponent_b - kLowestExponent;
  const bool negative = product < 0;
  auto magnitude = static_cast<unsigned __int128>(negative ? -product : product);
  int digit = position / kDigitBits;
  const int shift = position % kDigitBits;
  // The lowest digit takes what the shift leaves below; the rest goes on in whole digits.
  uint64_t low = static_cast<uint64_t>(magnitude << shift) & 0xffffffffu;
  magnitude >>= kDigitBits - shift;
  while (true) {
    digits_[static_cast<size_t>(digit++)] += negative ? -static_cast<int64_t>(low) : static_cast<int64_t>(low);
    if (magnitude == 0) return *this;
    low = static_cast<uint64_t>(magnitude) & 0xffffffffu;
    magnitude >>= kDigitBits;
  }
}

int ExactSum::Sign() const {
  int64_t carry = 0;
  bool any = false;
  for (const int64_t digit : digits_) {
    const int64_t sum = digit + carry;
    any = any || (sum & 0xffffffff) != 0;
    carry = sum >> kDigitBits;  // rounds down, so that each digit is in [0, 2^32)
  }
  return carry < 0 ? -1 : (any || carry > 0) ? 1 : 0;
}

FloatFormat Ieee(int exponent_bits, int fraction_bits) {
  const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  return {exponent_bits, fraction_bits, infinity - 1};
}

Product MagnitudeOf(const FloatFormat& format, uint64_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> format.fraction_bits);
  const uint64_t one = uint64_t{1} << format.fraction_bits;
  const uint64_t fraction = (bits & (one - 1)) | (exponent == 0 ? 0 : one);
  const int scale = (exponent == 0 ? 1 : exponent) - bias - format.fraction_bits;
  const int half = scale / 2;  // two factors, each within the range of a double
  return {std::ldexp(static_cast<double>(fraction), half), std::ldexp(1.0, scale - half)};
}

ExactValue SumOf(std::function<ExactSum()> sum) {
  return {[=](Product x) { return sum().Add(-x.a, x.b).Sign(); },
          [=](Product x, Product y) {
            ExactSum twice = sum();
            // 2 * sum - x - y has the sign of sum - x / 2 - y / 2; halving the factors is exact.
            return twice.Add(-x.a, x.b / 2).Add(-y.a, y.b / 2).Sign();
          }};
}

ExactValue QuotientOf(double a, double b) {
  const int sign = std::signbit(b) ? -1 : 1;
  // The products of three factors are split: x.b is a power of two, which goes to b without rounding in these ranges.
  const auto side = [=](Product x) { return sign * ExactSum().Add(a).Add(-x.a * x.b, b).Sign(); };
  const auto twice = [=](Product x, Product y) {
    return sign * ExactSum().Add(a, 2).Add(-x.a * x.b, b).Add(-y.a * y.b, b).Sign();
  };
  return {side, twice};
}

ExactValue RootOf(double a) {
  const auto side = [=](Product x) {
    const double v = x.a * x.b;
    return ExactSum().Add(a).Add(-v, v).Sign();
  };
  const auto twice = [=](Product x, Product y) {
    const double u = x.a * x.b, v = y.a * y.b;
    return ExactSum().Add(a, 4).Add(-u, u).Add(-2 * u, v).Add(-v, v).Sign();
  };
  return {side, twice};
}

bool IsRounded(const FloatFormat& format, uint64_t result, Mode mode, const ExactValue& exact) {
  const uint64_t sign_bit = uint64_t{1} << (format.exponent_bits + format.fraction_bits);
  const bool negative = (result & sign_bit) != 0;
  const uint64_t magnitude = result & (sign_bit - 1);
  if (magnitude > format.largest + 1) return false;
  const auto side = [&](uint64_t bits) {
    const Product x = MagnitudeOf(format, bits);
    return negative ? -exact.side(Negated(x)) : exact.side(x);
  };
  const auto middle = [&](uint64_t lower) {
    const Product x = MagnitudeOf(format, lower), y = MagnitudeOf(format, lower + 1);
    return negative ? -exact.twice_side(Negated(x), Negated(y)) : exact.twice_side(x, y);
  };
  if (side(0) < 0) return false;  // the wrong sign
  const bool overflowed = magnitude == format.largest + 1;
  if (mode == Mode::kNearestEven || mode == Mode::kNearestAway) {
    const bool even = (magnitude & 1u) == 0, away = mode == Mode::kNearestAway;
    if (magnitude != 0) {
      const int below = middle(magnitude - 1);
      if (below < 0 || (below == 0 && !away && !even)) return false;
    }
    if (overflowed) return true;
    const int above = middle(magnitude);
    return above < 0 || (above == 0 && !away && even);
  }
  const bool upward = mode == (negative ? Mode::kDown : Mode::kUp);
  if (upward) return (overflowed || side(magnitude) <= 0) && (magnitude == 0 || side(magnitude - 1) > 0);
  if (overflowed) return false;
  return side(magnitude) >= 0 && (magnitude == format.largest || side(magnitude + 1) < 0);
}

}  // namespace fsr::sim
