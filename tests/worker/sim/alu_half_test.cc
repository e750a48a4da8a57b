#include <catch2/catch.hpp>
#include <cmath>

#include "tests/worker/sim/alu_bench.h"
#include "tests/worker/sim/exact_rounding.h"

namespace fsr::sim {
namespace {

struct HalfType {
  std::string name;
  FloatFormat format;
  Pool pool;
  uint64_t infinity() const { return format.largest + 1; }
  bool IsNan(uint64_t bits) const { return (bits & 0x7fffu) > infinity(); }
  bool IsFinite(uint64_t bits) const { return (bits & 0x7fffu) < infinity(); }
  double Number(uint64_t bits) const {
    if (IsNan(bits)) return NAN;
    const Product p = MagnitudeOf(format, bits & 0x7fffu);
    const double magnitude = IsFinite(bits) ? p.a * p.b : INFINITY;
    return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
  }
};
std::vector<HalfType> HalfTypes() { return {{"f16", Ieee(5, 10), F16Pool()}, {"bf16", Ieee(8, 7), BF16Pool()}}; }

// Whether `result` is the correctly rounded op of halves a, b (and c).
bool IsRight(const HalfType& t, const std::string& opcode, uint64_t result, uint64_t a_bits, uint64_t b_bits,
             uint64_t c_bits) {
  const double a = t.Number(a_bits), b = t.Number(b_bits), c = opcode == "fma" ? t.Number(c_bits) : 0;
  const double plain = opcode == "add" ? a + b : opcode == "sub" ? a - b : opcode == "mul" ? a * b : std::fma(a, b, c);
  if (std::isnan(plain)) return result == 0x7fff;
  if (std::isinf(a) || std::isinf(b) || std::isinf(c)) return t.Number(result) == plain;
  const auto sum = [=] {
    if (opcode == "add") return ExactSum().Add(a).Add(b);
    if (opcode == "sub") return ExactSum().Add(a).Add(-b);
    if (opcode == "mul") return ExactSum().Add(a, b);
    return ExactSum().Add(a, b).Add(c);
  };
  if (sum().Sign() == 0) return t.Number(result) == 0 && std::signbit(t.Number(result)) == std::signbit(plain);
  return IsRounded(t.format, result, Mode::kNearestEven, SumOf(sum));
}

TEST_CASE("half arithmetic is rounded once to the format, alone and in pairs") {
  for (const HalfType& t : HalfTypes()) {
    for (const std::string opcode : {"add", "sub", "mul", "fma"}) {
      const size_t sources = opcode == "fma" ? 3 : 2;
      const std::string rounding = opcode == "fma" ? ".rn." : ".";
      CheckEach(opcode + rounding + t.name, std::vector<Pool>(sources, t.pool), [&](const Values& v, uint64_t result) {
        return result <= 0xffff && IsRight(t, opcode, result, v[0], v[1], v.back());
      });
      CheckEach(opcode + rounding + t.name + "x2", std::vector<Pool>(sources, PairPool(t.pool)),
                [&](const Values& v, uint64_t result) {
                  return IsRight(t, opcode, result & 0xffff, v[0] & 0xffff, v[1] & 0xffff, v.back() & 0xffff) &&
                         IsRight(t, opcode, result >> 16, v[0] >> 16, v[1] >> 16, v.back() >> 16);
                });
    }
  }
}

TEST_CASE("the least addend decides a tie of a bf16 product") {
  // (1 + 2^-7) * 1.5 lies in the middle of 193/128 and 194/128, which is the even one.
  const auto fma = [](uint64_t c) {
    WarpInputs inputs;
    inputs.sources.resize(3);
    inputs.sources[0].lane.fill(0x3f81);
    inputs.sources[1].lane.fill(0x3fc0);
    inputs.sources[2].lane.fill(c);
    return Run(Find("fma.rn.bf16", "d a b c"), inputs).destinations[0].lane[0];
  };
  CHECK(fma(0x0000) == 0x3fc2);
  CHECK(fma(0x0001) == 0x3fc2);
  CHECK(fma(0x8001) == 0x3fc1);
}

// Pairs of forms that differ by a flag: the flagged result from the plain one of flushed sources.
TEST_CASE("ftz, sat and relu act on the result of the plain operation") {
  const HalfType t = HalfTypes()[0];
  const auto run = [](const std::string& full, const Values& values) {
    WarpInputs inputs;
    std::string operands = "d";
    for (const uint64_t value : values) {
      inputs.sources.emplace_back().lane.fill(value);
      operands += " s";
    }
    return Run(Find(full, operands), inputs).destinations[0].lane[0];
  };
  const auto flush = [](uint64_t x) { return (x & 0x7c00u) == 0 ? x & 0x8000u : x; };
  const auto saturate = [&](uint64_t x) -> uint64_t {
    const double value = t.Number(x);
    return std::isnan(value) || value <= 0 ? 0 : value >= 1 ? 0x3c00 : x;
  };
  const auto relu = [&](uint64_t x) { return !t.IsNan(x) && (x & 0x8000u) != 0 ? 0 : x; };
  CompareEach("add.ftz.f16", {t.pool, t.pool}, [&](const Values& v) {
    return flush(run("add.f16", {flush(v[0]), flush(v[1])}));
  });
  CompareEach("mul.sat.f16", {t.pool, t.pool}, [&](const Values& v) { return saturate(run("mul.f16", v)); });
  CompareEach("fma.rn.relu.f16", {t.pool, t.pool, t.pool}, [&](const Values& v) { return relu(run("fma.rn.f16", v)); });
  CompareEach("fma.rn.ftz.sat.f16", {t.pool, t.pool, t.pool}, [&](const Values& v) {
    return saturate(flush(run("fma.rn.f16", {flush(v[0]), flush(v[1]), flush(v[2])})));
  });
  CompareEach("fma.rn.relu.bf16x2", std::vector<Pool>(3, PairPool(BF16Pool())), [&](const Values& v) {
    const HalfType b = HalfTypes()[1];
    const auto one = [&](uint64_t x) { return !b.IsNan(x) && (x & 0x8000u) != 0 ? 0 : x; };
    const uint64_t plain = run("fma.rn.bf16x2", v);
    return one(plain >> 16) << 16 | one(plain & 0xffff);
  });
}

TEST_CASE("minimum and maximum of halves order zeros and ignore one NaN") {
  for (const HalfType& t : HalfTypes()) {
    for (const bool maximum : {false, true}) {
      const std::string opcode = maximum ? "max" : "min";
      const auto pick = [=](uint64_t a, uint64_t b) {
        const double x = t.Number(a), y = t.Number(b);
        const bool less = x < y || (x == 0 && y == 0 && std::signbit(x));
        return less != maximum ? a : b;
      };
      const auto one = [=](uint64_t a, uint64_t b) -> uint64_t {
        if (t.IsNan(a) && t.IsNan(b)) return 0x7fff;
        return t.IsNan(a) ? b : t.IsNan(b) ? a : pick(a, b);
      };
      CompareEach(opcode + "." + t.name, {t.pool, t.pool}, [=](const Values& v) { return one(v[0], v[1]); });
      CompareEach(opcode + "." + t.name + "x2", std::vector<Pool>(2, PairPool(t.pool)), [=](const Values& v) {
        return one(v[0] >> 16, v[1] >> 16) << 16 | one(v[0] & 0xffff, v[1] & 0xffff);
      });
      CompareEach(opcode + ".NaN." + t.name, {t.pool, t.pool}, [=](const Values& v) -> uint64_t {
        return t.IsNan(v[0]) || t.IsNan(v[1]) ? 0x7fff : pick(v[0], v[1]);
      });
      CompareEach(opcode + ".xorsign.abs." + t.name, {t.pool, t.pool}, [=](const Values& v) -> uint64_t {
        const uint64_t magnitude = one(v[0] & 0x7fff, v[1] & 0x7fff);
        return t.IsNan(magnitude) ? magnitude : magnitude | ((v[0] ^ v[1]) & 0x8000u);
      });
    }
  }
}

TEST_CASE("signs of halves are cleared and flipped") {
  CompareEach("abs.f16", {F16Pool()}, [](const Values& v) { return v[0] & 0x7fff; });
  CompareEach("neg.bf16", {BF16Pool()}, [](const Values& v) { return v[0] ^ 0x8000; });
  CompareEach("abs.bf16x2", {PairPool(BF16Pool())}, [](const Values& v) { return v[0] & 0x7fff7fff; });
  CompareEach("neg.f16x2", {PairPool(F16Pool())}, [](const Values& v) { return v[0] ^ 0x80008000; });
}

// Whether `bits` is the number of the format that is nearest to the truth.
bool IsNearest(const HalfType& t, uint64_t bits, long double truth) {
  if (std::isnan(truth)) return bits == 0x7fff;
  const auto distance = [&](uint64_t candidate) {
    return std::fabs(static_cast<long double>(t.Number(candidate)) - truth);
  };
  if (!t.IsFinite(bits)) return truth > t.Number(t.format.largest);
  const uint64_t above = bits + 1, below = (bits & 0x7fffu) == 0 ? bits : bits - 1;
  return distance(bits) <= distance(below) && (!t.IsFinite(above) || distance(bits) <= distance(above));
}

TEST_CASE("ex2 and tanh of every half are the nearest halves") {
  for (const HalfType& t : HalfTypes()) {
    const Pool every{16, [] {
                       std::vector<uint64_t> all(65536);
                       for (size_t i = 0; i < all.size(); ++i) all[i] = i;
                       return all;
                     }()};
    const std::string flush = t.name == "bf16" ? "ftz." : "";
    CheckEach("ex2.approx." + flush + t.name, {every}, [&](const Values& v, uint64_t result) {
      const long double truth = std::exp2(static_cast<long double>(t.Number(v[0])));
      if (t.name == "bf16" && truth < 0x1p-126L) return result == 0;
      return IsNearest(t, result, truth);
    });
    CheckEach("tanh.approx." + t.name, {every}, [&](const Values& v, uint64_t result) {
      return IsNearest(t, result, std::tanh(static_cast<long double>(t.Number(v[0]))));
    });
  }
}

TEST_CASE("mixed sums take a half and give a float, in every mode") {
  const std::vector<std::pair<std::string, Mode>> kModes = {
      {"", Mode::kNearestEven}, {".rz", Mode::kZero}, {".rm", Mode::kDown}, {".rp", Mode::kUp}};
  for (const HalfType& t : HalfTypes()) {
    for (const auto& [suffix, mode] : kModes) {
      CheckEach("add" + suffix + ".f32." + t.name, {t.pool, F32Pool()}, [&](const Values& v, uint64_t result) {
        const double a = t.Number(v[0]), c = static_cast<double>(F(v[1]));
        if (!std::isfinite(a) || !std::isfinite(c) || a + c == 0) {
          return std::isnan(a + c) ? result == 0x7fffffff : static_cast<double>(F(result)) == a + c;
        }
        return IsRounded(Ieee(8, 23), result, mode, SumOf([=] { return ExactSum().Add(a).Add(c); }));
      });
    }
    CheckEach("fma.rn.f32." + t.name, {t.pool, t.pool, F32Pool()}, [&](const Values& v, uint64_t result) {
      const double a = t.Number(v[0]), b = t.Number(v[1]), c = static_cast<double>(F(v[2]));
      const double plain = std::fma(a, b, c);
      if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c) || plain == 0) {
        return std::isnan(plain) ? result == 0x7fffffff : static_cast<double>(F(result)) == plain;
      }
      return IsRounded(Ieee(8, 23), result, Mode::kNearestEven, SumOf([=] { return ExactSum().Add(a, b).Add(c); }));
    });
  }
}

}  // namespace
}  // namespace fsr::sim
