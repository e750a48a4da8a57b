#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/worker/sim/alu_bench.h"

namespace fsr::sim {
namespace {

bool Bit(uint64_t value, uint64_t index) { return (value >> index & 1u) != 0; }

// Bits of a value from a rule for each.
uint64_t FromBits(int bits, const std::function<bool(uint64_t)>& rule) {
  uint64_t value = 0;
  for (int i = 0; i < bits; ++i) value |= uint64_t{rule(static_cast<uint64_t>(i))} << i;
  return value;
}

TEST_CASE("logic works on each bit of every width") {
  for (const int bits : {16, 32, 64}) {
    const std::string type = fmt::format(".b{}", bits);
    const Pool pool = IntegerPool(bits);
    CompareEach("and" + type, {pool, pool}, [=](const Values& v) {
      return FromBits(bits, [&](uint64_t i) { return Bit(v[0], i) && Bit(v[1], i); });
    });
    CompareEach("or" + type, {pool, pool}, [=](const Values& v) {
      return FromBits(bits, [&](uint64_t i) { return Bit(v[0], i) || Bit(v[1], i); });
    });
    CompareEach("xor" + type, {pool, pool}, [=](const Values& v) {
      return FromBits(bits, [&](uint64_t i) { return Bit(v[0], i) != Bit(v[1], i); });
    });
    CompareEach("not" + type, {pool},
                [=](const Values& v) { return FromBits(bits, [&](uint64_t i) { return !Bit(v[0], i); }); });
    CompareEach("cnot" + type, {pool}, [](const Values& v) { return v[0] == 0 ? 1u : 0u; });
  }
}

TEST_CASE("lop3 looks its result up in any of the 256 tables") {
  const Pool pool = IntegerPool(32);
  const auto look_up = [](const Values& v, uint64_t table) {
    return FromBits(32, [&](uint64_t i) { return Bit(table, 4 * Bit(v[0], i) + 2 * Bit(v[1], i) + Bit(v[2], i)); });
  };
  for (uint64_t table = 0; table < 256; table += 5) {
    CompareEach(
        "lop3.b32", {pool, pool, pool}, [=](const Values& v) { return look_up(v, table); }, fmt::format("#{}", table));
  }
  // The predicate form: (d != 0) with q; d may be a sink.
  const Pool few{32, {0, 0, 0, 1, 0x80000000u}};
  const auto nonzero = [=](const Values& v) { return look_up(v, 0x80) != 0; };
  ComparePredicate("lop3.or.b32", "d|p a b c #128 q", {few, few, few},
                   [=](const Values& v, bool q) { return nonzero(v) || q; });
  ComparePredicate("lop3.and.b32", "_|p a b c #128 !q", {few, few, few},
                   [=](const Values& v, bool q) { return nonzero(v) && q; });
}

TEST_CASE("shifts by the width and more leave zeros, or the sign") {
  for (const int bits : {16, 32, 64}) {
    const std::string width = std::to_string(bits);
    const Pool pool = IntegerPool(bits), count = ShiftPool();
    const auto in_range = [=](uint64_t i) { return i < static_cast<uint64_t>(bits); };
    CompareEach("shl.b" + width, {pool, count}, [=](const Values& v) {
      return FromBits(bits, [&](uint64_t i) { return i >= v[1] && Bit(v[0], i - v[1]); });
    });
    for (const std::string kind : {"b", "u"}) {
      CompareEach("shr." + kind + width, {pool, count}, [=](const Values& v) {
        return FromBits(bits, [&](uint64_t i) { return in_range(i + v[1]) && Bit(v[0], i + v[1]); });
      });
    }
    CompareEach("shr.s" + width, {pool, count}, [=](const Values& v) {
      const auto top = static_cast<uint64_t>(bits - 1);
      return FromBits(bits, [&](uint64_t i) { return Bit(v[0], in_range(i + v[1]) ? i + v[1] : top); });
    });
  }
}

TEST_CASE("funnel shifts move bits from one word into the other") {
  const Pool pool = IntegerPool(32), count = ShiftPool();
  const auto both = [](const Values& v, uint64_t i) { return i < 32 ? Bit(v[0], i) : i < 64 && Bit(v[1], i - 32); };
  for (const bool wrap : {true, false}) {
    const auto amount = [=](uint64_t n) { return wrap ? n % 32 : (n > 32 ? 32 : n); };
    const std::string mode = wrap ? "wrap" : "clamp";
    CompareEach("shf.l." + mode + ".b32", {pool, pool, count}, [=](const Values& v) {
      return FromBits(32, [&](uint64_t i) { return both(v, 32 + i - amount(v[2])); });
    });
    CompareEach("shf.r." + mode + ".b32", {pool, pool, count},
                [=](const Values& v) { return FromBits(32, [&](uint64_t i) { return both(v, i + amount(v[2])); }); });
  }
}

TEST_CASE("bits are counted, found and reversed") {
  for (const int bits : {32, 64}) {
    const std::string width = std::to_string(bits);
    const Pool pool = IntegerPool(bits);
    CompareEach("popc.b" + width, {pool}, [=](const Values& v) {
      uint64_t count = 0;
      for (int i = 0; i < bits; ++i) count += Bit(v[0], static_cast<uint64_t>(i));
      return count;
    });
    CompareEach("clz.b" + width, {pool}, [=](const Values& v) {
      uint64_t count = 0;
      for (int i = bits - 1; i >= 0 && !Bit(v[0], static_cast<uint64_t>(i)); --i) ++count;
      return count;
    });
    CompareEach("brev.b" + width, {pool}, [=](const Values& v) {
      return FromBits(bits, [&](uint64_t i) { return Bit(v[0], static_cast<uint64_t>(bits) - 1 - i); });
    });
    for (const bool is_signed : {false, true}) {
      const auto find = [=](uint64_t a) -> uint64_t {
        const bool negative = is_signed && Bit(a, static_cast<uint64_t>(bits - 1));
        for (int i = bits - 1; i >= 0; --i) {
          if (Bit(a, static_cast<uint64_t>(i)) != negative) return static_cast<uint64_t>(i);
        }
        return 0xffffffffu;
      };
      const std::string type = (is_signed ? ".s" : ".u") + width;
      CompareEach("bfind" + type, {pool}, [=](const Values& v) { return find(v[0]); });
      CompareEach("bfind.shiftamt" + type, {pool}, [=](const Values& v) {
        const uint64_t position = find(v[0]);
        return position == 0xffffffffu ? position : static_cast<uint64_t>(bits - 1) - position;
      });
    }
  }
}

TEST_CASE("fields are extracted and inserted wherever they lie") {
  for (const int bits : {32, 64}) {
    const std::string width = std::to_string(bits);
    const Pool pool = IntegerPool(bits), count = ShiftPool();
    const auto top = static_cast<uint64_t>(bits - 1);
    for (const bool is_signed : {false, true}) {
      CompareEach("bfe." + std::string(is_signed ? "s" : "u") + width, {pool, count, count}, [=](const Values& v) {
        const uint64_t position = v[1] & 0xff, length = v[2] & 0xff;
        const bool sign = is_signed && length != 0 && Bit(v[0], std::min(position + length - 1, top));
        return FromBits(bits,
                        [&](uint64_t i) { return i < length && position + i <= top ? Bit(v[0], position + i) : sign; });
      });
    }
    CompareEach("bfi.b" + width, {pool, pool, count, count}, [=](const Values& v) {
      const uint64_t position = v[2] & 0xff, length = v[3] & 0xff;
      return FromBits(bits, [&](uint64_t i) {
        return i >= position && i < position + length ? Bit(v[0], i - position) : Bit(v[1], i);
      });
    });
  }
}

TEST_CASE("fns finds the n-th set bit from a base, in both directions") {
  const Pool base{32, {0, 1, 5, 15, 16, 30, 31, 32, 33}};
  const Pool offset{32, {0, 1, 2, 3, 7, 31, 32, 33, 0xffffffffu, 0xfffffffeu, 0xfffffff0u, 0x80000000u, 0x7fffffffu}};
  CompareEach("fns.b32", {IntegerPool(32), base, offset}, [](const Values& v) -> uint64_t {
    const auto step = static_cast<int32_t>(v[2]);
    std::vector<uint64_t> set;  // in the order of the search
    if (step < 0) {
      for (int64_t i = static_cast<int64_t>(v[1]); i >= 0 && i < 32; --i) {
        if (Bit(v[0], static_cast<uint64_t>(i))) set.push_back(static_cast<uint64_t>(i));
      }
    } else {
      for (uint64_t i = v[1]; i < 32; ++i) {
        if (Bit(v[0], i)) set.push_back(i);
      }
    }
    if (step == 0) return !set.empty() && set.front() == v[1] ? v[1] : 0xffffffffu;
    const uint64_t nth = static_cast<uint64_t>(step < 0 ? -int64_t{step} : int64_t{step});
    return nth <= set.size() ? set[nth - 1] : 0xffffffffu;
  });
}

uint64_t Byte(const Values& v, uint64_t index) {
  return (index < 4 ? v[0] >> (8 * index) : v[1] >> (8 * (index - 4))) & 0xff;
}

TEST_CASE("prmt picks bytes by selector, with their signs") {
  const Pool pool = IntegerPool(32);
  CompareEach("prmt.b32", {pool, pool, pool}, [](const Values& v) {
    uint64_t result = 0;
    for (uint64_t i = 0; i < 4; ++i) {
      const uint64_t selector = v[2] >> (4 * i) & 15;
      const uint64_t byte = Byte(v, selector & 7);
      result |= (selector < 8 ? byte : byte >= 128 ? 0xff : 0) << (8 * i);
    }
    return result;
  });
  // The tables of the ISA, for c = 0, 1, 2, 3: source bytes from the highest result byte down.
  const std::map<std::string, std::vector<std::vector<uint64_t>>> kModes = {
      {"f4e", {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}},
      {"b4e", {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}},
      {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
      {"ecl", {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}},
      {"ecr", {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}},
      {"rc16", {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}},
  };
  for (const auto& [mode, rows] : kModes) {
    CompareEach("prmt.b32." + mode, {pool, pool, pool}, [&rows = rows](const Values& v) {
      uint64_t result = 0;
      for (size_t i = 0; i < 4; ++i) result |= Byte(v, rows[v[2] & 3][i]) << (8 * (3 - i));
      return result;
    });
  }
}

TEST_CASE("bmsk makes runs of ones and szext extends from any bit") {
  const Pool pool = IntegerPool(32), count = ShiftPool();
  CompareEach("bmsk.clamp.b32", {count, count},
              [](const Values& v) { return FromBits(32, [&](uint64_t i) { return i >= v[0] && i < v[0] + v[1]; }); });
  CompareEach("bmsk.wrap.b32", {count, count}, [](const Values& v) {
    return FromBits(32, [&](uint64_t i) { return i >= v[0] % 32 && i < v[0] % 32 + v[1] % 32; });
  });
  for (const bool clamp : {true, false}) {
    for (const bool is_signed : {true, false}) {
      const std::string full = std::string("szext.") + (clamp ? "clamp" : "wrap") + (is_signed ? ".s32" : ".u32");
      CompareEach(full, {pool, count}, [=](const Values& v) {
        if (clamp && v[1] >= 32) return v[0];
        const uint64_t width = v[1] % 32;
        const bool sign = is_signed && width != 0 && Bit(v[0], width - 1);
        return FromBits(32, [&](uint64_t i) { return i < width ? Bit(v[0], i) : sign; });
      });
    }
  }
}

TEST_CASE("predicates combine lane by lane") {
  std::mt19937_64 random(9);
  for (int i = 0; i < 50; ++i) {
    WarpInputs inputs;
    inputs.mask = static_cast<LaneMask>(random());
    inputs.source_predicates = {static_cast<LaneMask>(random()), static_cast<LaneMask>(random())};
    const LaneMask a = inputs.source_predicates[0], b = inputs.source_predicates[1], m = inputs.mask;
    const LaneMask kept = kOldPredicate & ~m;
    CHECK(Run(Find("and.pred", "p a b"), inputs).predicate == ((a & b & m) | kept));
    CHECK(Run(Find("or.pred", "p a b"), inputs).predicate == (((a | b) & m) | kept));
    CHECK(Run(Find("xor.pred", "p a b"), inputs).predicate == (((a ^ b) & m) | kept));
    CHECK(Run(Find("not.pred", "p a"), inputs).predicate == ((~a & m) | kept));
    CHECK(Run(Find("mov.pred", "p a"), inputs).predicate == ((a & m) | kept));
  }
}

}  // namespace
}  // namespace fsr::sim
