#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/worker/sim/alu_bench.h"

namespace fsr::sim {
namespace {

TEST_CASE("mov and selp keep the width of their type") {
  for (const int bits : {16, 32, 64}) {
    const Pool pool = IntegerPool(bits);
    for (const char* kind : {"b", "u", "s"}) {
      CompareEach(fmt::format("mov.{}{}", kind, bits), {pool}, [](const Values& v) { return v[0]; });
    }
    const AluOperation select = Find(fmt::format("selp.b{}", bits), "d a b p");
    WarpInputs inputs;
    inputs.sources.resize(2);
    inputs.sources[0].lane.fill(~uint64_t{0});
    inputs.sources[1].lane.fill(5);
    inputs.source_predicates[0] = 0x0000ffffu;
    inputs.mask = 0x00ffff00u;
    const WarpOutputs outputs = Run(select, inputs);
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      const uint64_t ones = ~uint64_t{0} >> (64 - bits);
      CHECK(outputs.destinations[0].lane[lane] == (lane < 8 || lane >= 24 ? kOldLane : lane < 16 ? ones : 5));
    }
  }
  CompareEach("mov.f32", {F32Pool()}, [](const Values& v) { return v[0]; });  // a NaN keeps its bits
}

TEST_CASE("slct chooses by the sign of its third source") {
  const Pool pool = IntegerPool(32);
  CompareEach("slct.u32.s32", {pool, pool, pool}, [](const Values& v) { return v[2] < 0x80000000u ? v[0] : v[1]; });
  CompareEach("slct.b64.f32", {IntegerPool(64), IntegerPool(64), F32Pool()}, [](const Values& v) {
    const bool nan = (v[2] & 0x7fffffffu) > 0x7f800000u, negative = v[2] > 0x80000000u;
    return nan || negative ? v[1] : v[0];
  });
  CompareEach("slct.ftz.f32.f32", {pool, pool, F32Pool()}, [](const Values& v) {
    const bool nan = (v[2] & 0x7fffffffu) > 0x7f800000u, negative = v[2] >= 0x80800000u;
    return nan || negative ? v[1] : v[0];
  });
}

// Sources whose upper bits must not be seen, and a whole and a partial mask.
TEST_CASE("vectors are taken apart and put together, low element first") {
  struct Form {
    int whole, count;
  };
  for (const Form form : {Form{16, 2}, Form{32, 2}, Form{32, 4}, Form{64, 2}, Form{64, 4}}) {
    const int bits = form.whole / form.count;
    const uint64_t ones = ~uint64_t{0} >> (64 - bits);
    std::mt19937_64 random(4);
    for (const LaneMask mask : {kFullMask, LaneMask{0x13579bdf}}) {
      WarpInputs whole, elements;
      whole.mask = elements.mask = mask;
      whole.sources.resize(1);
      elements.sources.resize(static_cast<size_t>(form.count));
      for (Lanes& lanes : elements.sources) {
        for (uint64_t& lane : lanes.lane) lane = random();
      }
      for (uint64_t& lane : whole.sources[0].lane) lane = random();
      const std::string full = fmt::format("mov.b{}", form.whole), vector = fmt::format("{{{}", form.count);
      const WarpOutputs apart = Run(Find(full, vector + " a"), whole),
                        together = Run(Find(full, "d " + vector), elements);
      for (size_t lane = 0; lane < kWarpSize; ++lane) {
        const bool takes_part = ((mask >> lane) & 1u) != 0;
        uint64_t joined = 0;
        for (int k = 0; k < form.count; ++k) {
          const auto index = static_cast<size_t>(k);
          joined |= (elements.sources[index].lane[lane] & ones) << (k * bits);
          const uint64_t part = whole.sources[0].lane[lane] >> (k * bits) & ones;
          REQUIRE(apart.destinations[index].lane[lane] == (takes_part ? part : kOldLane));
        }
        REQUIRE(together.destinations[0].lane[lane] == (takes_part ? joined : kOldLane));
      }
    }
  }
}

TEST_CASE("128-bit registers are two words, low one first") {
  WarpInputs inputs;
  inputs.sources.resize(4);
  for (size_t s = 0; s < 4; ++s) {
    for (size_t lane = 0; lane < kWarpSize; ++lane) inputs.sources[s].lane[lane] = 1000 * (s + 1) + lane;
  }
  using B = AluBinding;
  const AluOperation pack = Find("mov.b128", "d {2"), unpack = Find("mov.b128", "{2 a"), copy = Find("mov.b128", "d a");
  CHECK(pack.bindings == std::vector<B>{B::kWideDestination, B::kVectorSource});
  CHECK(unpack.bindings == std::vector<B>{B::kVectorDestination, B::kWideSource});
  CHECK(copy.bindings == std::vector<B>{B::kWideDestination, B::kWideSource});
  for (const AluOperation& operation : {pack, unpack, copy}) {
    const WarpOutputs outputs = Run(operation, inputs);
    CHECK(outputs.destinations[0].lane[3] == 1003);
    CHECK(outputs.destinations[1].lane[3] == 2003);
  }
  const WarpOutputs quarters = Run(Find("mov.b128", "d {4"), inputs);
  CHECK(quarters.destinations[0].lane[1] == (uint64_t{2001} << 32 | 1001));
  CHECK(quarters.destinations[1].lane[1] == (uint64_t{4001} << 32 | 3001));
}

TEST_CASE("sinks are not written") {
  Lanes source;
  source.lane.fill(0x1234567887654321u);
  Lanes high;
  high.lane.fill(0);
  AluArguments arguments;
  arguments.destination_high = &high;
  arguments.sources[0] = &source;
  const AluOperation operation = Find("mov.b64", "{2 a");
  operation.function(operation, arguments);
  CHECK(high.lane[5] == 0x12345678u);
}

TEST_CASE("sources say the type that a literal has there") {
  const auto types = [](const std::string& full, const std::string& operands) {
    const AluOperation operation = Find(full, operands);
    return std::vector<std::string>(operation.source_types.begin(), operation.source_types.begin() + 3);
  };
  using Types = std::vector<std::string>;
  CHECK(types("shl.b64", "d a b") == Types{"b64", "u32", ""});
  CHECK(types("mad.wide.u32", "d a b c") == Types{"u32", "u32", "b64"});
  CHECK(types("fma.rn.f32", "d a b c") == Types{"f32", "f32", "f32"});
  CHECK(types("set.lt.u32.f32", "d a b") == Types{"f32", "f32", ""});
  CHECK(types("slct.f64.s32", "d a b c") == Types{"f64", "f64", "s32"});
  CHECK(types("mov.b64", "d {2") == Types{"b32", "b32", "b32"});
}

TEST_CASE("literals become lanes of the type they stand for") {
  const auto lane = [](uint64_t bits, bool is_float, std::string_view type) {
    ptx::Operand operand;
    operand.kind = ptx::Operand::Kind::kImmediate;
    operand.bits = bits;
    operand.is_float = is_float;
    return ImmediateLane(operand, type);
  };
  const auto number = [](double value) { return std::bit_cast<uint64_t>(value); };
  CHECK(lane(number(1.5), true, "f32") == 0x3fc00000u);
  CHECK(lane(number(1.5), true, "b32") == 0x3fc00000u);
  CHECK(lane(number(1.5), true, "f64") == number(1.5));
  CHECK(lane(number(1.5), true, "b64") == number(1.5));
  CHECK(lane(number(1.5), true, "f16") == 0x3e00u);
  CHECK(lane(number(1.5), true, "bf16") == 0x3fc0u);
  CHECK(lane(number(-std::numeric_limits<double>::infinity()), true, "f32") == 0xff800000u);
  CHECK(lane(~uint64_t{0}, false, "s32") == 0xffffffffu);
  CHECK(lane(~uint64_t{0}, false, "u16") == 0xffffu);
  CHECK(lane(~uint64_t{0}, false, "s64") == ~uint64_t{0});
  CHECK(lane(0x3c00, false, "f16") == 0x3c00u);
}

TEST_CASE("what is not arithmetic or not known is named in full") {
  for (const char* full :
       {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "ld.global.f32", "add.rx.f32", "add.sat.u32",
        "add.ftz.f64", "fma.rn.oob.f16", "mul.u32", "mul.wide.u64", "div.f32", "popc.b16", "cvt.f32.f16.f32",
        "max.relu.u32", "tanh.f32", "sin.approx.f64", "cvt.rs.f16x2.f32", "shf.l.b32", "mov.v2.b32"}) {
    const absl::Status status = FindAlu(MakeInstruction(full, "d a b")).status();
    INFO(full);
    CHECK(absl::IsUnimplemented(status));
    CHECK(status.ToString().find(full) != std::string::npos);
  }
}

TEST_CASE("a wrong number of operands is refused") {
  for (const char* operands : {"d a", "d a b c"}) {
    const absl::Status status = FindAlu(MakeInstruction("add.s32", operands)).status();
    CHECK(absl::IsInvalidArgument(status));
  }
}

}  // namespace
}  // namespace fsr::sim
