#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/worker/sim/alu_bench.h"
#include "tests/worker/sim/exact_rounding.h"

namespace fsr::sim {
namespace {

using Wide = __int128;

struct IntegerName {
  std::string name;
  int bits;
  bool is_signed;
  Wide Number(uint64_t value) const {
    const Wide span = Wide{1} << bits;
    return is_signed && static_cast<Wide>(value) >= span / 2 ? static_cast<Wide>(value) - span
                                                             : static_cast<Wide>(value);
  }
  Wide Lowest() const { return is_signed ? -(Wide{1} << (bits - 1)) : 0; }
  Wide Highest() const { return (Wide{1} << (is_signed ? bits - 1 : bits)) - 1; }
  Wide Clamp(Wide n) const { return n < Lowest() ? Lowest() : n > Highest() ? Highest() : n; }
  // The lane of a result: small signed ones fill 32 bits with their sign.
  uint64_t Lane(Wide n) const {
    const uint64_t low = static_cast<uint64_t>(n) & (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
    return is_signed && bits < 32 ? static_cast<uint64_t>(Number(low)) & 0xffffffffu : low;
  }
};
const std::vector<IntegerName> kIntegers = {{"u8", 8, false},   {"s8", 8, true},    {"u16", 16, false},
                                            {"s16", 16, true},  {"u32", 32, false}, {"s32", 32, true},
                                            {"u64", 64, false}, {"s64", 64, true}};

struct FloatName {
  std::string name;
  FloatFormat format;
  Pool pool;
  uint64_t nan;
  uint64_t sign() const { return uint64_t{1} << (format.exponent_bits + format.fraction_bits); }
  bool IsNan(uint64_t bits) const { return (bits & (sign() - 1)) > format.largest + 1; }
  double Number(uint64_t bits) const {
    const uint64_t magnitude = bits & (sign() - 1);
    const Product p = MagnitudeOf(format, magnitude);
    const double value = IsNan(bits) ? NAN : magnitude == format.largest + 1 ? INFINITY : p.a * p.b;
    return (bits & sign()) != 0 ? -value : value;
  }
};
FloatName F16Name() { return {"f16", Ieee(5, 10), F16Pool(), 0x7fff}; }
FloatName BF16Name() { return {"bf16", Ieee(8, 7), BF16Pool(), 0x7fff}; }
FloatName F32Name() { return {"f32", Ieee(8, 23), F32Pool(), 0x7fffffff}; }
FloatName F64Name() { return {"f64", Ieee(11, 52), F64Pool(), 0}; }
std::vector<FloatName> Floats() { return {F16Name(), BF16Name(), F32Name(), F64Name()}; }

const std::vector<std::pair<std::string, Mode>> kModes = {
    {"rn", Mode::kNearestEven}, {"rz", Mode::kZero}, {"rm", Mode::kDown}, {"rp", Mode::kUp}};

// Whether `result` is `value` rounded to the format, with NaN, infinities and signed zeros.
bool IsConverted(const FloatName& to, uint64_t result, double value, Mode mode) {
  if (std::isnan(value)) return to.name == "f64" ? std::isnan(to.Number(result)) : result == to.nan;
  if (std::isinf(value) || value == 0) {
    return to.Number(result) == value && std::signbit(to.Number(result)) == std::signbit(value);
  }
  return IsRounded(to.format, result, mode, SumOf([=] { return ExactSum().Add(value); }));
}

// Every value of a 16-bit format, every midpoint between two, and their neighbours: all that rounding to it can meet.
Pool Boundaries(const FloatName& format, bool as_double) {
  Pool pool{as_double ? 64 : 32, {}};
  for (uint64_t bits = 0; bits <= format.format.largest; ++bits) {
    const Product low = MagnitudeOf(format.format, bits), high = MagnitudeOf(format.format, bits + 1);
    const double value = low.a * low.b, middle = (value + high.a * high.b) / 2;
    for (const double x : {value, middle}) {
      if (as_double) {
        for (const uint64_t y : {Bits(x), Bits(x) + 1, x == 0 ? 1 : Bits(x) - 1}) pool.awkward.push_back(y);
      } else {
        const uint64_t y = Bits(static_cast<float>(x));
        for (const uint64_t z : {y, y + 1, y == 0 ? 1 : y - 1}) pool.awkward.push_back(z);
      }
    }
  }
  return pool;
}

// One instruction on a list of values, each with both signs.
void CheckList(const std::string& full, const std::vector<uint64_t>& list, uint64_t sign,
               const std::function<bool(uint64_t value, uint64_t result)>& check) {
  const AluOperation operation = Find(full, "d a");
  for (size_t start = 0; start < list.size(); start += kWarpSize / 2) {
    WarpInputs inputs;
    inputs.sources.resize(1);
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      inputs.sources[0].lane[lane] = list[std::min(start + lane / 2, list.size() - 1)] ^ (lane % 2 == 0 ? 0 : sign);
    }
    const WarpOutputs outputs = Run(operation, inputs);
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      const uint64_t value = inputs.sources[0].lane[lane], result = outputs.destinations[0].lane[lane];
      if (!check(value, result)) FAIL(full << " of " << std::hex << value << " gives " << result);
    }
  }
  SUCCEED();
}

TEST_CASE("integers are cut, extended and saturated between all widths") {
  for (const IntegerName& to : kIntegers) {
    for (const IntegerName& from : kIntegers) {
      const std::string types = "." + to.name + "." + from.name;
      CompareEach("cvt" + types, {IntegerPool(from.bits)}, [&](const Values& v) { return to.Lane(from.Number(v[0])); });
      CompareEach("cvt.sat" + types, {IntegerPool(from.bits)},
                  [&](const Values& v) { return to.Lane(to.Clamp(from.Number(v[0]))); });
    }
  }
}

TEST_CASE("floats become integers by rounding first and clamping then, and NaN becomes 0") {
  const std::vector<std::pair<std::string, double (*)(double)>> kIntegral = {
      {"rzi", [](double x) { return std::trunc(x); }},
      {"rmi", [](double x) { return std::floor(x); }},
      {"rpi", [](double x) { return std::ceil(x); }},
      {"rni", [](double x) {
         const double down = std::floor(x), rest = x - down;
         return rest > 0.5 || (rest == 0.5 && std::fmod(down, 2) != 0) ? down + 1 : down;
       }}};
  for (const FloatName& from : Floats()) {
    Pool pool = from.pool;
    for (int i = 0; i < 300; ++i) {  // numbers with halves, and numbers about the limits of the integers
      const double numbers[] = {i / 2.0 - 40, 127.5 + i % 4, std::ldexp(1, i % 66), std::ldexp(1, i % 66) - 0.5};
      const double number = numbers[i % 4];
      if (from.name == "f32") pool.awkward.push_back(Bits(static_cast<float>(number)));
      if (from.name == "f64") pool.awkward.push_back(Bits(number));
      if (from.name == "f32") pool.awkward.push_back(Bits(-static_cast<float>(number)));
      if (from.name == "f64") pool.awkward.push_back(Bits(-number));
    }
    for (const IntegerName& to : kIntegers) {
      for (const auto& [mode, round] : kIntegral) {
        CompareEach("cvt." + mode + "." + to.name + "." + from.name, {pool}, [&, round = round](const Values& v) {
          const double value = from.Number(v[0]);
          if (std::isnan(value)) return uint64_t{0};
          const double whole = round(value);
          if (whole >= 0x1p70) return to.Lane(to.Highest());
          if (whole <= -0x1p70) return to.Lane(to.Lowest());
          return to.Lane(to.Clamp(static_cast<Wide>(whole)));
        });
      }
    }
  }
}

TEST_CASE("integers become floats, rounded once in every mode") {
  for (const IntegerName& from : kIntegers) {
    for (const FloatName& to : Floats()) {
      for (const auto& [name, mode] : kModes) {
        CheckEach("cvt." + name + "." + to.name + "." + from.name, {IntegerPool(from.bits)},
                  [&, mode = mode](const Values& v, uint64_t result) {
                    const Wide number = from.Number(v[0]);
                    if (number == 0) return result == 0;
                    const auto high = static_cast<double>(static_cast<int64_t>(number >> 32));
                    const auto low = static_cast<double>(static_cast<uint32_t>(static_cast<uint64_t>(number)));
                    return IsRounded(to.format, result, mode,
                                     SumOf([=] { return ExactSum().Add(high, 0x1p32).Add(low); }));
                  });
      }
    }
  }
}

TEST_CASE("a long integer next to a midpoint of bf16 is not rounded twice") {
  // 257 * 2^54 lies in the middle of 256 and 258 * 2^54; a double cannot tell it from the next integer.
  WarpInputs inputs;
  inputs.sources.resize(1);
  inputs.sources[0].lane.fill((uint64_t{257} << 54) + 1);
  CHECK(Run(Find("cvt.rn.bf16.s64", "d a"), inputs).destinations[0].lane[0] == 0x5e81);
  inputs.sources[0].lane.fill((uint64_t{257} << 54) - 1);
  CHECK(Run(Find("cvt.rn.bf16.u64", "d a"), inputs).destinations[0].lane[0] == 0x5e80);
}

TEST_CASE("every half widens to the float and the double of its value") {
  for (const FloatName& from : {F16Name(), BF16Name()}) {
    std::vector<uint64_t> all(0x8000);
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (const FloatName& to : {F32Name(), F64Name()}) {
      CheckList("cvt." + to.name + "." + from.name, all, 0x8000, [&](uint64_t value, uint64_t result) {
        const double expected = from.Number(value), actual = to.Number(result);
        return std::isnan(expected) ? std::isnan(actual)
                                    : actual == expected && std::signbit(actual) == std::signbit(expected);
      });
    }
  }
}

TEST_CASE("halves are rounded right at every boundary between two of them, in every mode") {
  for (const FloatName& to : {F16Name(), BF16Name()}) {
    for (const auto& [name, mode] : kModes) {
      CheckList("cvt." + name + "." + to.name + ".f32", Boundaries(to, false).awkward, 0x80000000u,
                [&, mode = mode](uint64_t v, uint64_t result) {
                  return IsConverted(to, result, static_cast<double>(F(v)), mode);
                });
      CheckList("cvt." + name + "." + to.name + ".f64", Boundaries(to, true).awkward, uint64_t{1} << 63,
                [&, mode = mode](uint64_t v, uint64_t result) { return IsConverted(to, result, D(v), mode); });
    }
  }
}

TEST_CASE("doubles, floats and tf32 are rounded once") {
  const FloatName f32 = F32Name(), f64 = F64Name();
  for (const auto& [name, mode] : kModes) {
    CheckEach("cvt." + name + ".f32.f64", {f64.pool},
              [&, mode = mode](const Values& v, uint64_t result) { return IsConverted(f32, result, D(v[0]), mode); });
  }
  CheckEach("cvt.f64.f32", {f32.pool}, [&](const Values& v, uint64_t result) {
    return IsConverted(f64, result, static_cast<double>(F(v[0])), Mode::kNearestEven);
  });
  const FloatName tf32{"tf32", Ieee(8, 10), {}, 0x3ffff};
  const std::vector<std::pair<std::string, Mode>> kTF32Modes = {
      {"rna", Mode::kNearestAway}, {"rn", Mode::kNearestEven}, {"rz", Mode::kZero}};
  for (const auto& [name, mode] : kTF32Modes) {
    CheckEach("cvt." + name + ".tf32.f32", {f32.pool}, [&, mode = mode](const Values& v, uint64_t result) {
      if (std::isnan(F(v[0]))) return result == 0x7fffffff;
      return (result & 0x1fff) == 0 && IsConverted(tf32, result >> 13, static_cast<double>(F(v[0])), mode);
    });
  }
}

TEST_CASE("floats are rounded to whole numbers, saturated and flushed") {
  CompareEach("cvt.rni.f32.f32", {F32Pool()}, [](const Values& v) {
    const float x = F(v[0]);
    return std::isnan(x) ? 0x7fffffff : Bits(std::fabs(x) < 0x1p23f ? std::copysign(std::nearbyint(x), x) : x);
  });
  CompareEach("cvt.rpi.f64.f64", {F64Pool()}, [](const Values& v) { return Bits(std::ceil(D(v[0]))); });
  CompareEach("cvt.rzi.f16.f16", {F16Pool()}, [](const Values& v) -> uint64_t {
    const FloatName f16 = F16Name();
    if (f16.IsNan(v[0])) return 0x7fff;
    const uint64_t exponent = (v[0] & 0x7fff) >> 10;
    if (exponent < 15) return v[0] & 0x8000;  // below 1
    return exponent >= 25 ? v[0] : v[0] & ~((uint64_t{1} << (25 - exponent)) - 1);
  });
  CompareEach("cvt.sat.f32.f32", {F32Pool()}, [](const Values& v) {
    const float x = F(v[0]);
    return Bits(std::isnan(x) || x <= 0 ? 0.0f : std::min(x, 1.0f));
  });
  CompareEach("cvt.ftz.f32.f32", {F32Pool()}, [](const Values& v) {
    const float x = F(v[0]);
    return std::isnan(x) ? 0x7fffffff : std::fabs(x) < 0x1p-126f ? v[0] & 0x80000000u : v[0];
  });
  CompareEach("cvt.rn.ftz.f32.f64", {F64Pool()}, [](const Values& v) {
    const float x = static_cast<float>(D(v[0]));
    return std::isnan(x) ? 0x7fffffff : std::fabs(x) < 0x1p-126f ? Bits(x) & 0x80000000u : Bits(x);
  });
}

TEST_CASE("relu and satfinite bend what goes out of range") {
  const FloatName f16 = F16Name();
  CheckEach("cvt.rn.relu.f16.f32", {F32Pool()}, [&](const Values& v, uint64_t result) {
    const double value = static_cast<double>(F(v[0]));
    return value <= 0 ? result == 0 : IsConverted(f16, result, value, Mode::kNearestEven);
  });
  CheckEach("cvt.rn.satfinite.f16.f32", {F32Pool()}, [&](const Values& v, uint64_t result) {
    const double value = static_cast<double>(F(v[0]));
    if (std::fabs(value) >= 65520) return result == (value > 0 ? 0x7bffu : 0xfbffu);
    return IsConverted(f16, result, value, Mode::kNearestEven);
  });
}

struct PairName {
  std::string name;
  int bits;
  FloatName element;
};
// e4m3 has no infinity: what would be its bits is a number, and all ones is NaN.
FloatName E4M3Name() { return {"e4m3", {4, 3, 0x7e}, {}, 0x7f}; }
FloatName E5M2Name() { return {"e5m2", Ieee(5, 2), {}, 0x7f}; }

TEST_CASE("two floats are packed with the first one on top") {
  for (const PairName& p : {PairName{"f16x2", 16, F16Name()}, PairName{"bf16x2", 16, BF16Name()}}) {
    for (const auto& [name, mode] : {kModes[0], kModes[1]}) {
      CheckEach("cvt." + name + "." + p.name + ".f32", {F32Pool(), F32Pool()},
                [&, m = mode](const Values& v, uint64_t r) {
                  return IsConverted(p.element, r >> 16, static_cast<double>(F(v[0])), m) &&
                         IsConverted(p.element, r & 0xffff, static_cast<double>(F(v[1])), m);
                });
    }
    CheckEach("cvt.rn.relu." + p.name + ".f32", {F32Pool(), F32Pool()}, [&](const Values& v, uint64_t r) {
      const auto right = [&](uint64_t source, uint64_t result) {
        const double value = static_cast<double>(F(source));
        return value <= 0 ? result == 0 : IsConverted(p.element, result, value, Mode::kNearestEven);
      };
      return right(v[0], r >> 16) && right(v[1], r & 0xffff);
    });
  }
}

bool IsSaturatedF8(const FloatName& f8, uint64_t result, double value) {
  if (std::isnan(value)) return result == 0x7f;
  const Product largest = MagnitudeOf(f8.format, f8.format.largest);
  if (std::fabs(value) >= largest.a * largest.b) return result == (f8.format.largest | (value < 0 ? 0x80u : 0u));
  return IsConverted(f8, result, value, Mode::kNearestEven);
}

TEST_CASE("bytes of f8 are rounded, saturated and widened again") {
  for (const FloatName& f8 : {E4M3Name(), E5M2Name()}) {
    CheckEach("cvt.rn.satfinite." + f8.name + "x2.f32", {Boundaries(f8, false), F32Pool()},
              [&](const Values& v, uint64_t result) {
                return IsSaturatedF8(f8, result >> 8, static_cast<double>(F(v[0]))) &&
                       IsSaturatedF8(f8, result & 0xff, static_cast<double>(F(v[1])));
              });
    const FloatName f16 = F16Name();
    CheckEach("cvt.rn.satfinite." + f8.name + "x2.f16x2", {PairPool(F16Pool())}, [&](const Values& v, uint64_t result) {
      return IsSaturatedF8(f8, result >> 8, f16.Number(v[0] >> 16)) &&
             IsSaturatedF8(f8, result & 0xff, f16.Number(v[0] & 0xffff));
    });
    std::vector<uint64_t> all(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    CheckList("cvt.rn.f16x2." + f8.name + "x2", all, 0, [&](uint64_t value, uint64_t result) {
      const auto right = [&](uint64_t byte, uint64_t half) {
        // e4m3 0x7f is NaN, which Number takes for an infinity.
        const bool nan = f8.name == "e4m3" ? (byte & 0x7f) == 0x7f : f8.IsNan(byte);
        return nan ? half == 0x7fff : IsConverted(f16, half, f8.Number(byte), Mode::kNearestEven);
      };
      return right(value >> 8, result >> 16) && right(value & 0xff, result & 0xffff);
    });
  }
}

TEST_CASE("cvt.pack clamps two integers and packs them over a third") {
  const Pool s32 = IntegerPool(32);
  const IntegerName source{"s32", 32, true};
  for (const IntegerName& to : {IntegerName{"u16", 16, false}, IntegerName{"s16", 16, true}}) {
    CompareEach("cvt.pack.sat." + to.name + ".s32", {s32, s32}, [&](const Values& v) {
      const auto part = [&](uint64_t x) { return static_cast<uint64_t>(to.Clamp(source.Number(x))) & 0xffff; };
      return part(v[0]) << 16 | part(v[1]);
    });
  }
  for (const int bits : {2, 4, 8}) {
    for (const bool is_signed : {false, true}) {
      const IntegerName to{fmt::format("{}{}", is_signed ? "s" : "u", bits), bits, is_signed};
      CompareEach("cvt.pack.sat." + to.name + ".s32.b32", {s32, s32, s32}, [&](const Values& v) {
        const auto part = [&](uint64_t x) {
          return static_cast<uint64_t>(to.Clamp(source.Number(x))) & ((1u << bits) - 1);
        };
        return ((v[2] << (2 * bits)) | part(v[0]) << bits | part(v[1])) & 0xffffffffu;
      });
    }
  }
}

}  // namespace
}  // namespace fsr::sim
