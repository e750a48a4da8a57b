#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/worker/sim/alu_bench.h"
#include "tests/worker/sim/exact_rounding.h"

namespace fsr::sim {
namespace {

constexpr uint64_t kNan32 = 0x7fffffff;

struct RoundingName {
  std::string name;
  Mode mode;
};
const std::vector<RoundingName> kRoundings = {
    {"rn", Mode::kNearestEven}, {"rz", Mode::kZero}, {"rm", Mode::kDown}, {"rp", Mode::kUp}};

struct FloatType {
  std::string name;
  FloatFormat format;
  Pool pool;
  bool is_double;
  double Number(uint64_t bits) const { return is_double ? D(bits) : static_cast<double>(F(bits)); }
  bool IsNan(uint64_t bits) const { return is_double ? std::isnan(D(bits)) : bits == kNan32; }
};
std::vector<FloatType> FloatTypes() {
  return {{"f32", Ieee(8, 23), F32Pool(), false}, {"f64", Ieee(11, 52), F64Pool(), true}};
}

bool AllFinite(const std::vector<double>& numbers) {
  for (const double number : numbers) {
    if (!std::isfinite(number)) return false;
  }
  return true;
}

// What the operation gives where a source is infinite or NaN, and the sign of its zeros: rounding does not matter then,
// except for the sign of an exact zero sum, which is negative when rounding down.
bool IsSpecialResult(const FloatType& t, uint64_t result, double expected, Mode mode, bool zero_sum) {
  if (std::isnan(expected)) return t.IsNan(result);
  if (zero_sum && mode == Mode::kDown) return t.Number(result) == 0 && std::signbit(t.Number(result));
  return t.Number(result) == expected && std::signbit(t.Number(result)) == std::signbit(expected);
}

TEST_CASE("sums, products and fused products of floats are rounded once, in every mode") {
  for (const FloatType& t : FloatTypes()) {
    for (const RoundingName& r : kRoundings) {
      for (const std::string opcode : {"add", "sub", "mul", "fma"}) {
        std::vector<Pool> pools(opcode == "fma" ? 3 : 2, t.pool);
        CheckEach(opcode + "." + r.name + "." + t.name, pools, [&](const Values& v, uint64_t result) {
          const double a = t.Number(v[0]), b = t.Number(v[1]), c = opcode == "fma" ? t.Number(v[2]) : 0;
          const auto sum = [=] {
            if (opcode == "add") return ExactSum().Add(a).Add(b);
            if (opcode == "sub") return ExactSum().Add(a).Add(-b);
            if (opcode == "mul") return ExactSum().Add(a, b);
            return ExactSum().Add(a, b).Add(c);
          };
          const double plain = opcode == "add"   ? a + b
                               : opcode == "sub" ? a - b
                               : opcode == "mul" ? a * b
                                                 : std::fma(a, b, c);
          if (!AllFinite({a, b, c})) return IsSpecialResult(t, result, plain, r.mode, false);
          if (sum().Sign() != 0) return IsRounded(t.format, result, r.mode, SumOf(sum));
          // Terms of one sign keep it; others that cancel give +0, or -0 when rounding down.
          const bool is_product = opcode == "mul";
          const double first = opcode == "fma" ? std::copysign(1, a) * std::copysign(1, b) : a;
          const double second = opcode == "fma" ? c : opcode == "sub" ? -b : b;
          const bool cancels = !is_product && std::signbit(first) != std::signbit(second);
          return IsSpecialResult(t, result, plain, r.mode, cancels);
        });
      }
    }
  }
}

TEST_CASE("quotients, reciprocals and roots are rounded once, in every mode") {
  for (const FloatType& t : FloatTypes()) {
    const auto is_rounded = [&](uint64_t result, Mode mode, double plain, const ExactValue& exact, bool special) {
      if (special) return IsSpecialResult(t, result, plain, mode, false);
      // The checker multiplies results, which must then be doubles.
      if (t.is_double && std::fabs(plain) > 0x1p1022) return std::fabs(D(result)) >= 0x1p1022;
      return IsRounded(t.format, result, mode, exact);
    };
    for (const RoundingName& r : kRoundings) {
      CheckEach("div." + r.name + "." + t.name, {t.pool, t.pool}, [&](const Values& v, uint64_t result) {
        const double a = t.Number(v[0]), b = t.Number(v[1]);
        const bool special = !AllFinite({a, b}) || a == 0 || b == 0;
        return is_rounded(result, r.mode, a / b, QuotientOf(a, b), special);
      });
      CheckEach("rcp." + r.name + "." + t.name, {t.pool}, [&](const Values& v, uint64_t result) {
        const double a = t.Number(v[0]);
        return is_rounded(result, r.mode, 1 / a, QuotientOf(1, a), !std::isfinite(a) || a == 0);
      });
      CheckEach("sqrt." + r.name + "." + t.name, {t.pool}, [&](const Values& v, uint64_t result) {
        const double a = t.Number(v[0]);
        return is_rounded(result, r.mode, std::sqrt(a), RootOf(a), !std::isfinite(a) || a <= 0);
      });
    }
  }
}

TEST_CASE("the rounding mode of one instruction does not leak into the next") {
  WarpInputs inputs;
  inputs.sources.resize(2);
  inputs.sources[0].lane.fill(Bits(1.0f));
  inputs.sources[1].lane.fill(Bits(0x1p-40f));
  CHECK(Run(Find("add.rp.f32", "d a b"), inputs).destinations[0].lane[0] == Bits(1.0f) + 1);
  CHECK(Run(Find("add.f32", "d a b"), inputs).destinations[0].lane[0] == Bits(1.0f));
}

float Flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
uint64_t Canonical(float x) { return std::isnan(x) ? kNan32 : Bits(x); }

TEST_CASE("ftz flushes sources and results, and sat clamps to the unit interval") {
  const Pool pool = F32Pool();
  const auto clamp = [](float x) { return std::isnan(x) || x <= 0 ? 0.0f : std::min(x, 1.0f); };
  CompareEach("add.ftz.f32", {pool, pool},
              [](const Values& v) { return Canonical(Flushed(Flushed(F(v[0])) + Flushed(F(v[1])))); });
  CompareEach("mul.ftz.f32", {pool, pool},
              [](const Values& v) { return Canonical(Flushed(Flushed(F(v[0])) * Flushed(F(v[1])))); });
  CompareEach("fma.rn.ftz.f32", {pool, pool, pool}, [](const Values& v) {
    return Canonical(Flushed(std::fma(Flushed(F(v[0])), Flushed(F(v[1])), Flushed(F(v[2])))));
  });
  CompareEach("add.sat.f32", {pool, pool}, [=](const Values& v) { return Bits(clamp(F(v[0]) + F(v[1]))); });
  CompareEach("sub.ftz.sat.f32", {pool, pool},
              [=](const Values& v) { return Bits(clamp(Flushed(Flushed(F(v[0])) - Flushed(F(v[1]))))); });
  CompareEach("fma.rn.sat.f32", {pool, pool, pool},
              [=](const Values& v) { return Bits(clamp(std::fma(F(v[0]), F(v[1]), F(v[2])))); });
  CompareEach("div.rn.ftz.f32", {pool, pool},
              [](const Values& v) { return Canonical(Flushed(Flushed(F(v[0])) / Flushed(F(v[1])))); });
  CompareEach("mad.rn.f32", {pool, pool, pool},
              [](const Values& v) { return Canonical(std::fma(F(v[0]), F(v[1]), F(v[2]))); });
}

// A total order with -0 below +0, without NaN.
bool Below(double a, double b) { return a < b || (a == 0 && b == 0 && std::signbit(a) && !std::signbit(b)); }

TEST_CASE("minimum and maximum ignore one NaN, unless told not to") {
  for (const FloatType& t : FloatTypes()) {
    for (const bool maximum : {false, true}) {
      const std::string opcode = maximum ? "max" : "min";
      const auto pick = [=](uint64_t a, uint64_t b) { return Below(t.Number(a), t.Number(b)) != maximum ? a : b; };
      CheckEach(opcode + "." + t.name, {t.pool, t.pool}, [=](const Values& v, uint64_t result) {
        const bool a_nan = std::isnan(t.Number(v[0])), b_nan = std::isnan(t.Number(v[1]));
        if (a_nan && b_nan) return t.IsNan(result);
        return result == (a_nan ? v[1] : b_nan ? v[0] : pick(v[0], v[1]));
      });
      if (t.is_double) continue;
      CompareEach(opcode + ".NaN.f32", {t.pool, t.pool}, [=](const Values& v) {
        return std::isnan(F(v[0])) || std::isnan(F(v[1])) ? kNan32 : pick(v[0], v[1]);
      });
      CompareEach(opcode + ".xorsign.abs.f32", {t.pool, t.pool}, [=](const Values& v) -> uint64_t {
        const uint64_t sign = (v[0] ^ v[1]) & 0x80000000u, a = v[0] & 0x7fffffffu, b = v[1] & 0x7fffffffu;
        if (std::isnan(F(a)) && std::isnan(F(b))) return kNan32;
        return sign | (std::isnan(F(a)) ? b : std::isnan(F(b)) ? a : pick(a, b));
      });
      CompareEach(opcode + ".NaN.f32", {t.pool, t.pool, t.pool}, [=](const Values& v) {
        if (std::isnan(F(v[0])) || std::isnan(F(v[1])) || std::isnan(F(v[2]))) return kNan32;
        return pick(pick(v[0], v[1]), v[2]);
      });
    }
  }
  CompareEach("min.ftz.f32", {F32Pool(), Pool{32, {Bits(0.25f)}}}, [](const Values& v) {
    const float a = Flushed(F(v[0])), b = Flushed(F(v[1]));
    return std::isnan(a) && std::isnan(b) ? kNan32
                                          : Canonical(std::isnan(a)                  ? b
                                                      : std::isnan(b) || Below(a, b) ? a
                                                                                     : b);
  });
}

TEST_CASE("signs are cleared, flipped and copied bit by bit") {
  const uint64_t sign64 = uint64_t{1} << 63;
  CompareEach("abs.f32", {F32Pool()}, [](const Values& v) { return v[0] & 0x7fffffffu; });
  CompareEach("neg.f32", {F32Pool()}, [](const Values& v) { return v[0] ^ 0x80000000u; });
  CompareEach("abs.f64", {F64Pool()}, [=](const Values& v) { return v[0] & ~sign64; });
  CompareEach("neg.f64", {F64Pool()}, [=](const Values& v) { return v[0] ^ sign64; });
  CompareEach("neg.ftz.f32", {F32Pool()}, [](const Values& v) { return Bits(Flushed(F(v[0]))) ^ 0x80000000u; });
  CompareEach("copysign.f32", {F32Pool(), F32Pool()},
              [](const Values& v) { return (v[0] & 0x80000000u) | (v[1] & 0x7fffffffu); });
  CompareEach("copysign.f64", {F64Pool(), F64Pool()},
              [=](const Values& v) { return (v[0] & sign64) | (v[1] & ~sign64); });
}

TEST_CASE("testp tells the classes of floats apart") {
  const auto in = [](uint64_t v, uint64_t low, uint64_t high) {
    const uint64_t magnitude = v & 0x7fffffffu;
    return magnitude >= low && magnitude <= high;
  };
  const std::map<std::string, std::pair<uint64_t, uint64_t>> kRanges = {
      {"finite", {0, 0x7f7fffff}},       {"infinite", {0x7f800000, 0x7f800000}}, {"number", {0, 0x7f800000}},
      {"notanumber", {0x7f800001, ~0u}}, {"normal", {0x00800000, 0x7f7fffff}},   {"subnormal", {1, 0x007fffff}}};
  for (const auto& [name, range] : kRanges) {
    ComparePredicate("testp." + name + ".f32", "p a", {F32Pool()},
                     [=, range = range](const Values& v, bool) { return in(v[0], range.first, range.second); });
  }
  ComparePredicate("testp.subnormal.f64", "p a", {F64Pool()},
                   [](const Values& v, bool) { return v[0] << 1 != 0 && v[0] << 1 >> 53 == 0; });
}

// The error in units of the last place of `expected`, computed from a long double.
bool IsClose(float result, long double expected, long double ulps) {
  if (std::isnan(expected)) return std::isnan(result);
  const float rounded = static_cast<float>(expected);
  if (std::isinf(rounded) || rounded == 0) return result == rounded || std::fabs(result - rounded) <= 0x1p-149f;
  const long double unit = std::ldexp(1.0L, std::max(std::ilogb(rounded), -126) - 23);
  return std::fabs(result - expected) <= ulps * unit;
}

TEST_CASE("approximate functions are within half a unit of the truth") {
  const auto check = [](const std::string& full, long double (*truth)(long double)) {
    CheckEach(full, {F32Pool()}, [=](const Values& v, uint64_t result) {
      return IsClose(F(result), truth(static_cast<long double>(F(v[0]))), 0.5001L);
    });
  };
  check("rcp.approx.f32", [](long double x) { return 1 / x; });
  check("sqrt.approx.f32", [](long double x) { return std::sqrt(x); });
  check("rsqrt.approx.f32", [](long double x) { return 1 / std::sqrt(x); });
  check("sin.approx.f32", [](long double x) { return std::sin(x); });
  check("cos.approx.f32", [](long double x) { return std::cos(x); });
  check("lg2.approx.f32", [](long double x) { return std::log2(x); });
  check("ex2.approx.f32", [](long double x) { return std::exp2(x); });
  check("tanh.approx.f32", [](long double x) { return std::tanh(x); });
  CheckEach("div.full.f32", {F32Pool(), F32Pool()}, [](const Values& v, uint64_t result) {
    return IsClose(F(result), static_cast<long double>(F(v[0])) / static_cast<long double>(F(v[1])), 0.5001L);
  });
  CheckEach("rsqrt.approx.f64", {F64Pool()}, [](const Values& v, uint64_t result) {
    const long double truth = 1 / std::sqrt(static_cast<long double>(D(v[0])));
    if (std::isnan(truth)) return std::isnan(D(result));
    return D(result) == static_cast<double>(truth) && std::signbit(D(result)) == std::signbit(truth);
  });
}

TEST_CASE("the special cases of approximations are those of the ISA") {
  const float inf = std::numeric_limits<float>::infinity();
  const auto one = [](const std::string& full, float a) {
    WarpInputs inputs;
    inputs.sources.resize(1);
    inputs.sources[0].lane.fill(Bits(a));
    return F(Run(Find(full, "d a"), inputs).destinations[0].lane[7]);
  };
  CHECK(one("rcp.approx.ftz.f32", 1e-40f) == inf);
  CHECK(one("rcp.approx.ftz.f32", -1e-40f) == -inf);
  CHECK(one("rsqrt.approx.f32", -0.0f) == -inf);
  CHECK(std::isnan(one("rsqrt.approx.f32", -1.0f)));
  CHECK(one("lg2.approx.f32", 0.0f) == -inf);
  CHECK(std::isnan(one("lg2.approx.f32", -1.0f)));
  CHECK(std::isnan(one("sin.approx.f32", inf)));
  CHECK(one("ex2.approx.ftz.f32", -inf) == 0.0f);
  CHECK(one("ex2.approx.ftz.f32", 1e-40f) == 1.0f);
  CHECK(one("ex2.approx.ftz.f32", -127.0f) == 0.0f);
  CHECK(one("ex2.approx.f32", -127.0f) == 0x1p-127f);
  // div.approx: a divisor above 2^126 gives zero, or NaN for an infinite dividend.
  WarpInputs inputs;
  inputs.sources.resize(2);
  inputs.sources[0].lane.fill(Bits(0x1p127f));
  inputs.sources[1].lane.fill(Bits(0x1.8p126f));
  const AluOperation divide = Find("div.approx.f32", "d a b");
  CHECK(Run(divide, inputs).destinations[0].lane[0] == Bits(0.0f));
  inputs.sources[0].lane.fill(Bits(inf));
  CHECK(Run(divide, inputs).destinations[0].lane[0] == kNan32);
  inputs.sources[1].lane.fill(Bits(0x1p126f));
  CHECK(Run(divide, inputs).destinations[0].lane[0] == Bits(inf));
}

TEST_CASE("the gross reciprocal of doubles reads and writes their upper words") {
  CheckEach("rcp.approx.ftz.f64", {F64Pool()}, [](const Values& v, uint64_t result) {
    if ((result & 0xffffffffu) != 0) return false;
    if (std::isnan(D(v[0] & 0xffffffff00000000u))) return std::isnan(D(result));
    const bool small = (v[0] >> 52 & 0x7ff) == 0, huge = (v[0] >> 52 & 0x7ff) >= 0x7fd;
    if (small) return std::isinf(D(result)) && std::signbit(D(result)) == (v[0] >> 63 != 0);
    if (huge) return std::fabs(D(result)) <= 0x1p-1021;
    return std::fabs(D(result) * D(v[0]) - 1) < 0x1p-18;
  });
}

}  // namespace
}  // namespace fsr::sim
