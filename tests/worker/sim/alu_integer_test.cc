#include <catch2/catch.hpp>

#include "tests/worker/sim/alu_bench.h"

namespace fsr::sim {
namespace {

using Wide = __int128;

struct IntegerType {
  std::string name;
  int bits;
  bool is_signed;
  Pool pool() const { return IntegerPool(bits); }
  // The number that bits stand for.
  Wide Number(uint64_t value) const {
    const Wide number = static_cast<Wide>(value);
    const Wide span = Wide{1} << bits;
    return is_signed && number >= span / 2 ? number - span : number;
  }
  Wide Lowest() const { return is_signed ? -(Wide{1} << (bits - 1)) : 0; }
  Wide Highest() const { return (Wide{1} << (is_signed ? bits - 1 : bits)) - 1; }
};

// The low bits of a number that may be negative.
uint64_t Cut(Wide number, int bits) {
  const auto low = static_cast<uint64_t>(number);
  return bits == 64 ? low : low % (uint64_t{1} << bits);
}
Wide Clamp(Wide number, const IntegerType& type) {
  return number < type.Lowest() ? type.Lowest() : number > type.Highest() ? type.Highest() : number;
}

const std::vector<IntegerType> kTypes = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                                         {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};

// A product of 64-bit numbers fits in 128 bits; its high part needs care only for u64, where Number is not negative.
Wide High(Wide a, Wide b, const IntegerType& t) {
  if (!t.is_signed)
    return static_cast<Wide>((static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)) >> t.bits);
  return (a * b) >> t.bits;
}
uint64_t LowProduct(Wide a, Wide b, int bits) {
  return Cut(static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)), bits);
}

TEST_CASE("sums, differences and products of integers wrap at their width") {
  for (const IntegerType& t : kTypes) {
    const auto n = [t](uint64_t v) { return t.Number(v); };
    CompareEach("add." + t.name, {t.pool(), t.pool()}, [=](const Values& v) { return Cut(n(v[0]) + n(v[1]), t.bits); });
    CompareEach("sub." + t.name, {t.pool(), t.pool()}, [=](const Values& v) { return Cut(n(v[0]) - n(v[1]), t.bits); });
    CompareEach("mul.lo." + t.name, {t.pool(), t.pool()},
                [=](const Values& v) { return LowProduct(n(v[0]), n(v[1]), t.bits); });
    CompareEach("mul.hi." + t.name, {t.pool(), t.pool()},
                [=](const Values& v) { return Cut(High(n(v[0]), n(v[1]), t), t.bits); });
    CompareEach("mad.lo." + t.name, {t.pool(), t.pool(), t.pool()}, [=](const Values& v) {
      return Cut(static_cast<Wide>(LowProduct(n(v[0]), n(v[1]), t.bits)) + n(v[2]), t.bits);
    });
    CompareEach("mad.hi." + t.name, {t.pool(), t.pool(), t.pool()},
                [=](const Values& v) { return Cut(High(n(v[0]), n(v[1]), t) + n(v[2]), t.bits); });
    CompareEach("sad." + t.name, {t.pool(), t.pool(), t.pool()}, [=](const Values& v) {
      const Wide difference = n(v[0]) - n(v[1]);
      return Cut(n(v[2]) + (difference < 0 ? -difference : difference), t.bits);
    });
    if (t.bits == 64) continue;
    CompareEach("mul.wide." + t.name, {t.pool(), t.pool()},
                [=](const Values& v) { return Cut(n(v[0]) * n(v[1]), 2 * t.bits); });
    CompareEach("mad.wide." + t.name, {t.pool(), t.pool(), IntegerPool(2 * t.bits)},
                [=](const Values& v) { return Cut(n(v[0]) * n(v[1]) + static_cast<Wide>(v[2]), 2 * t.bits); });
  }
}

TEST_CASE("saturating integer arithmetic stops at the limits") {
  const IntegerType t{"s32", 32, true};
  const auto n = [t](uint64_t v) { return t.Number(v); };
  CompareEach("add.sat.s32", {t.pool(), t.pool()},
              [=](const Values& v) { return Cut(Clamp(n(v[0]) + n(v[1]), t), 32); });
  CompareEach("sub.sat.s32", {t.pool(), t.pool()},
              [=](const Values& v) { return Cut(Clamp(n(v[0]) - n(v[1]), t), 32); });
  CompareEach("mad.hi.sat.s32", {t.pool(), t.pool(), t.pool()},
              [=](const Values& v) { return Cut(Clamp(High(n(v[0]), n(v[1]), t) + n(v[2]), t), 32); });
}

TEST_CASE("division truncates, and the remainder has the sign of the dividend") {
  for (const IntegerType& t : kTypes) {
    const auto n = [t](uint64_t v) { return t.Number(v); };
    CompareEach("div." + t.name, {t.pool(), t.pool()},
                [=](const Values& v) { return v[1] == 0 ? Cut(-1, t.bits) : Cut(n(v[0]) / n(v[1]), t.bits); });
    CompareEach("rem." + t.name, {t.pool(), t.pool()},
                [=](const Values& v) { return v[1] == 0 ? v[0] : Cut(n(v[0]) % n(v[1]), t.bits); });
  }
}

TEST_CASE("minimum, maximum, magnitude and negation know the sign of their type") {
  for (const IntegerType& t : kTypes) {
    const auto n = [t](uint64_t v) { return t.Number(v); };
    CompareEach("min." + t.name, {t.pool(), t.pool()},
                [=](const Values& v) { return n(v[1]) < n(v[0]) ? v[1] : v[0]; });
    CompareEach("max." + t.name, {t.pool(), t.pool()},
                [=](const Values& v) { return n(v[1]) > n(v[0]) ? v[1] : v[0]; });
    if (!t.is_signed) continue;
    CompareEach("abs." + t.name, {t.pool()},
                [=](const Values& v) { return Cut(n(v[0]) < 0 ? -n(v[0]) : n(v[0]), t.bits); });
    CompareEach("neg." + t.name, {t.pool()}, [=](const Values& v) { return Cut(-n(v[0]), t.bits); });
  }
  const IntegerType t{"s32", 32, true};
  CompareEach("min.relu.s32", {t.pool(), t.pool()}, [=](const Values& v) {
    const Wide least = t.Number(v[0]) < t.Number(v[1]) ? t.Number(v[0]) : t.Number(v[1]);
    return Cut(least < 0 ? 0 : least, 32);
  });
  CompareEach("max.relu.s32", {t.pool(), t.pool()}, [=](const Values& v) {
    const Wide most = t.Number(v[0]) > t.Number(v[1]) ? t.Number(v[0]) : t.Number(v[1]);
    return Cut(most < 0 ? 0 : most, 32);
  });
}

TEST_CASE("packed 16-bit integers do not disturb each other") {
  const auto both = [](const std::function<uint64_t(uint64_t, uint64_t)>& half) {
    return [=](const Values& v) {
      return (half(v[0] >> 16, v[1] >> 16) & 0xffff) << 16 | (half(v[0] & 0xffff, v[1] & 0xffff) & 0xffff);
    };
  };
  const Pool pool = PairPool(IntegerPool(16));
  const auto n = [](uint64_t v) { return IntegerType{"s16", 16, true}.Number(v); };
  for (const char* type : {"u16x2", "s16x2"}) {
    CompareEach(std::string("add.") + type, {pool, pool}, both([](uint64_t a, uint64_t b) { return a + b; }));
  }
  CompareEach("min.u16x2", {pool, pool}, both([](uint64_t a, uint64_t b) { return a < b ? a : b; }));
  CompareEach("max.u16x2", {pool, pool}, both([](uint64_t a, uint64_t b) { return a < b ? b : a; }));
  CompareEach("min.s16x2", {pool, pool}, both([=](uint64_t a, uint64_t b) { return n(a) < n(b) ? a : b; }));
  CompareEach("max.s16x2", {pool, pool}, both([=](uint64_t a, uint64_t b) { return n(a) < n(b) ? b : a; }));
  CompareEach("max.relu.s16x2", {pool, pool}, both([=](uint64_t a, uint64_t b) {
                const uint64_t most = n(a) < n(b) ? b : a;
                return n(most) < 0 ? 0 : most;
              }));
}

TEST_CASE("24-bit products take the low 24 bits of their operands") {
  const Pool pool = IntegerPool(32);
  for (const bool is_signed : {false, true}) {
    const auto n = [=](uint64_t v) { return IntegerType{"", 24, is_signed}.Number(v % (1u << 24)); };
    const std::string type = is_signed ? "s32" : "u32";
    CompareEach("mul24.lo." + type, {pool, pool}, [=](const Values& v) { return Cut(n(v[0]) * n(v[1]), 32); });
    CompareEach("mul24.hi." + type, {pool, pool}, [=](const Values& v) { return Cut((n(v[0]) * n(v[1])) >> 16, 32); });
    CompareEach("mad24.lo." + type, {pool, pool, pool},
                [=](const Values& v) { return Cut(n(v[0]) * n(v[1]) + static_cast<Wide>(v[2]), 32); });
    CompareEach("mad24.hi." + type, {pool, pool, pool},
                [=](const Values& v) { return Cut(((n(v[0]) * n(v[1])) >> 16) + static_cast<Wide>(v[2]), 32); });
  }
}

TEST_CASE("dot products of bytes and of 16-bit parts accumulate in 32 bits") {
  const Pool pool = IntegerPool(32);
  for (const bool a_signed : {false, true}) {
    for (const bool b_signed : {false, true}) {
      const std::string types = std::string(a_signed ? ".s32" : ".u32") + (b_signed ? ".s32" : ".u32");
      const auto part = [](uint64_t word, int bits, int index, bool is_signed) {
        return IntegerType{"", bits, is_signed}.Number(word >> (bits * index) & ((1u << bits) - 1));
      };
      CompareEach("dp4a" + types, {pool, pool, pool}, [=](const Values& v) {
        Wide sum = static_cast<Wide>(v[2]);
        for (int i = 0; i < 4; ++i) sum += part(v[0], 8, i, a_signed) * part(v[1], 8, i, b_signed);
        return Cut(sum, 32);
      });
      for (const bool high : {false, true}) {
        CompareEach(std::string("dp2a.") + (high ? "hi" : "lo") + types, {pool, pool, pool}, [=](const Values& v) {
          Wide sum = static_cast<Wide>(v[2]);
          for (int i = 0; i < 2; ++i) sum += part(v[0], 16, i, a_signed) * part(v[1], 8, high ? i + 2 : i, b_signed);
          return Cut(sum, 32);
        });
      }
    }
  }
}

// Numbers of 128 bits in 32-bit or 64-bit limbs: what carries are for.
TEST_CASE("carries chain limbs into wide sums, differences and products") {
  std::mt19937_64 random(5);
  const auto run = [](const std::string& full, std::vector<Lanes> sources, LaneMask& carry) {
    std::string operands = "d";
    for (size_t i = 0; i < sources.size(); ++i) operands += " s";
    const AluOperation operation = Find(full, operands);
    REQUIRE(operation.uses_carry);
    WarpInputs inputs;
    inputs.carry = carry;
    inputs.sources = std::move(sources);
    const WarpOutputs outputs = Run(operation, inputs);
    carry = outputs.carry;
    return outputs.destinations[0];
  };
  for (int warp = 0; warp < 200; ++warp) {
    std::array<Lanes, 2> a, b;
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      for (size_t limb = 0; limb < 2; ++limb) {
        a[limb].lane[lane] = Draw(IntegerPool(64), random);
        b[limb].lane[lane] = Draw(IntegerPool(64), random);
      }
    }
    const auto wide = [](const std::array<Lanes, 2>& x, size_t lane) {
      return static_cast<unsigned __int128>(x[1].lane[lane]) << 64 | x[0].lane[lane];
    };
    LaneMask carry = static_cast<LaneMask>(random());
    std::array<Lanes, 2> sum, difference;
    sum[0] = run("add.cc.u64", {a[0], b[0]}, carry);
    sum[1] = run("addc.u64", {a[1], b[1]}, carry);
    difference[0] = run("sub.cc.u64", {a[0], b[0]}, carry);
    difference[1] = run("subc.cc.s64", {a[1], b[1]}, carry);
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      REQUIRE((wide(sum, lane) == wide(a, lane) + wide(b, lane)));
      REQUIRE((wide(difference, lane) == wide(a, lane) - wide(b, lane)));
      REQUIRE(((carry >> lane) & 1u) == (wide(a, lane) < wide(b, lane)));  // the last borrow
    }
    // The 64-bit product of 32-bit limbs, as compilers emit it.
    Lanes zero{};
    Lanes low = run("mad.lo.cc.u32", {a[0], b[0], b[1]}, carry);
    Lanes high = run("madc.hi.cc.u32", {a[0], b[0], a[1]}, carry);
    Lanes top = run("addc.u32", {zero, zero}, carry);
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      const auto w = [&](const Lanes& lanes) { return static_cast<unsigned __int128>(lanes.lane[lane] & 0xffffffffu); };
      const unsigned __int128 expected = w(a[0]) * w(b[0]) + w(b[1]) + (w(a[1]) << 32);
      REQUIRE((w(low) | w(high) << 32 | w(top) << 64) == expected);
    }
  }
}

TEST_CASE("a lane that does not take part keeps its carry") {
  WarpInputs inputs;
  inputs.mask = 0x0000ffffu;
  inputs.carry = 0xff0000ffu;
  inputs.sources.resize(2);
  inputs.sources[0].lane.fill(0xffffffffu);
  inputs.sources[1].lane.fill(1);
  const WarpOutputs outputs = Run(Find("add.cc.u32", "d a b"), inputs);
  CHECK(outputs.carry == 0xff00ffffu);
  CHECK(outputs.destinations[0].lane[0] == 0);
  CHECK(outputs.destinations[0].lane[31] == kOldLane);
}

}  // namespace
}  // namespace fsr::sim
