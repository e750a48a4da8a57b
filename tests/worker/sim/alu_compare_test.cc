#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>

#include "tests/worker/sim/alu_bench.h"

namespace fsr::sim {
namespace {

// How two values stand: less, equal, greater, or unordered (nullopt).
using Order = std::optional<int>;
template <class T>
Order OrderOf(T a, T b) {
  if (a < b) return -1;
  if (a > b) return 1;
  return a == b ? Order(0) : std::nullopt;
}

bool Means(const std::string& relation, Order order) {
  const bool unordered_form = relation.size() == 3 && relation.back() == 'u';
  if (relation == "num") return order.has_value();
  if (relation == "nan" || !order) return !order && (relation == "nan" || unordered_form);
  const std::string base = relation.substr(0, 2);
  if (base == "eq") return *order == 0;
  if (base == "ne") return *order != 0;
  if (base == "lt" || base == "lo") return *order < 0;
  if (base == "le" || base == "ls") return *order <= 0;
  if (base == "gt" || base == "hi") return *order > 0;
  return *order >= 0;  // ge, hs
}

const std::vector<std::string> kOrdered = {"eq", "ne", "lt", "le", "gt", "ge"};
const std::vector<std::string> kUnsigned = {"lo", "ls", "hi", "hs"};
const std::vector<std::string> kUnordered = {"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

struct Compared {
  std::string type;
  Pool pool;
  std::function<Order(uint64_t, uint64_t)> order;
  std::vector<std::string> relations;
};

double HalfNumber(uint64_t bits, int fraction_bits) {
  const uint64_t exponent = (bits & 0x7fffu) >> fraction_bits, all = 0x7fffu >> fraction_bits;
  const uint64_t fraction = bits & ((1u << fraction_bits) - 1);
  const int bias = static_cast<int>(all / 2);
  double magnitude = 0;
  if (exponent == all) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else {
    const double significand = static_cast<double>(fraction) + (exponent == 0 ? 0 : std::ldexp(1.0, fraction_bits));
    magnitude = std::ldexp(significand, static_cast<int>(exponent == 0 ? 1 : exponent) - bias - fraction_bits);
  }
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

template <class S>
Compared Signed(const std::string& type, int bits) {
  return {type, IntegerPool(bits), [](uint64_t a, uint64_t b) { return OrderOf(static_cast<S>(a), static_cast<S>(b)); },
          kOrdered};
}
template <class U>
Compared Unsigned(const std::string& type, int bits, std::vector<std::string> relations) {
  return {type, IntegerPool(bits), [](uint64_t a, uint64_t b) { return OrderOf(static_cast<U>(a), static_cast<U>(b)); },
          std::move(relations)};
}

std::vector<Compared> AllCompared() {
  std::vector<std::string> with_unsigned = kOrdered, floats = kOrdered;
  with_unsigned.insert(with_unsigned.end(), kUnsigned.begin(), kUnsigned.end());
  floats.insert(floats.end(), kUnordered.begin(), kUnordered.end());
  const std::vector<std::string> equality = {"eq", "ne"};
  return {
      Signed<int16_t>("s16", 16),
      Signed<int32_t>("s32", 32),
      Signed<int64_t>("s64", 64),
      Unsigned<uint16_t>("u16", 16, with_unsigned),
      Unsigned<uint32_t>("u32", 32, with_unsigned),
      Unsigned<uint64_t>("u64", 64, with_unsigned),
      Unsigned<uint16_t>("b16", 16, equality),
      Unsigned<uint32_t>("b32", 32, equality),
      Unsigned<uint64_t>("b64", 64, equality),
      {"f32", F32Pool(), [](uint64_t a, uint64_t b) { return OrderOf(F(a), F(b)); }, floats},
      {"f64", F64Pool(), [](uint64_t a, uint64_t b) { return OrderOf(D(a), D(b)); }, floats},
      {"f16", F16Pool(), [](uint64_t a, uint64_t b) { return OrderOf(HalfNumber(a, 10), HalfNumber(b, 10)); }, floats},
      {"bf16", BF16Pool(), [](uint64_t a, uint64_t b) { return OrderOf(HalfNumber(a, 7), HalfNumber(b, 7)); }, floats}};
}

TEST_CASE("setp knows every relation of every type") {
  for (const Compared& c : AllCompared()) {
    for (const std::string& relation : c.relations) {
      const auto holds = [=](const Values& v, bool) { return Means(relation, c.order(v[0], v[1])); };
      ComparePredicate("setp." + relation + "." + c.type, "p|q a b", {c.pool, c.pool}, holds,
                       [=](const Values& v, bool s) { return !holds(v, s); });
    }
  }
}

TEST_CASE("setp combines its result, and the opposite of it, with a predicate") {
  const Pool pool = IntegerPool(32);
  const auto less = [](const Values& v) { return static_cast<int32_t>(v[0]) < static_cast<int32_t>(v[1]); };
  ComparePredicate(
      "setp.lt.and.s32", "p|q a b c", {pool, pool}, [=](const Values& v, bool c) { return less(v) && c; },
      [=](const Values& v, bool c) { return !less(v) && c; });
  ComparePredicate(
      "setp.lt.or.s32", "p|q a b !c", {pool, pool}, [=](const Values& v, bool c) { return less(v) || c; },
      [=](const Values& v, bool c) { return !less(v) || c; });
  ComparePredicate(
      "setp.lt.xor.s32", "p|q a b c", {pool, pool}, [=](const Values& v, bool c) { return less(v) != c; },
      [=](const Values& v, bool c) { return !less(v) != c; });
}

TEST_CASE("setp.ftz takes subnormal numbers for zeros") {
  ComparePredicate("setp.eq.ftz.f32", "p a b", {F32Pool(), F32Pool()}, [](const Values& v, bool) {
    const auto flushed = [](uint64_t x) { return std::fpclassify(F(x)) == FP_SUBNORMAL ? 0.0f : F(x); };
    return flushed(v[0]) == flushed(v[1]);
  });
}

TEST_CASE("setp of pairs has a result for each half") {
  const Pool pool = PairPool(F16Pool());
  const auto half = [](const Values& v, int shift) {
    return OrderOf(HalfNumber(v[0] >> shift & 0xffff, 10), HalfNumber(v[1] >> shift & 0xffff, 10));
  };
  for (const std::string relation : {"lt", "geu", "neu", "num"}) {
    ComparePredicate(
        "setp." + relation + ".f16x2", "p|q a b", {pool, pool},
        [=](const Values& v, bool) { return Means(relation, half(v, 0)); },
        [=](const Values& v, bool) { return Means(relation, half(v, 16)); });
  }
  ComparePredicate(
      "setp.gt.and.f16x2", "p|q a b c", {pool, pool},
      [=](const Values& v, bool c) { return Means("gt", half(v, 0)) && c; },
      [=](const Values& v, bool c) { return Means("gt", half(v, 16)) && c; });
}

TEST_CASE("set writes ones, or 1.0 in its format") {
  const Pool f32 = F32Pool(), s32 = IntegerPool(32), f16 = F16Pool(), pair = PairPool(BF16Pool());
  const auto choose = [](bool holds, uint64_t value) { return holds ? value : 0; };
  CompareEach("set.lt.u32.f32", {f32, f32}, [=](const Values& v) { return choose(F(v[0]) < F(v[1]), 0xffffffffu); });
  CompareEach("set.geu.f32.f32", {f32, f32}, [=](const Values& v) { return choose(!(F(v[0]) < F(v[1])), Bits(1.0f)); });
  CompareEach("set.le.s32.s32", {s32, s32}, [=](const Values& v) {
    return choose(static_cast<int32_t>(v[0]) <= static_cast<int32_t>(v[1]), 0xffffffffu);
  });
  const auto less = [](const Values& v) { return HalfNumber(v[0], 10) < HalfNumber(v[1], 10); };
  CompareEach("set.lt.f16.f16", {f16, f16}, [=](const Values& v) { return choose(less(v), 0x3c00); });
  CompareEach("set.lt.u16.f16", {f16, f16}, [=](const Values& v) { return choose(less(v), 0xffff); });
  CompareEach("set.lt.bf16x2.bf16x2", {pair, pair}, [=](const Values& v) {
    const auto half = [&](int shift) {
      return HalfNumber(v[0] >> shift & 0xffff, 7) < HalfNumber(v[1] >> shift & 0xffff, 7);
    };
    return choose(half(0), 0x3f80) | choose(half(16), 0x3f800000);
  });
}

TEST_CASE("a relation that a type has not is not implemented") {
  for (const char* full :
       {"setp.lt.b32", "setp.equ.s32", "setp.eq.ftz.s32", "setp.ltu.u64", "set.eq.u64.f32", "setp.f32"}) {
    const absl::Status status = FindAlu(MakeInstruction(full, "p a b")).status();
    INFO(full);
    CHECK(absl::IsUnimplemented(status));
    CHECK(status.ToString().find(full) != std::string::npos);
  }
}

}  // namespace
}  // namespace fsr::sim
