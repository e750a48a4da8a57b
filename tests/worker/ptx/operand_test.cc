#include <bit>

#include "tests/worker/ptx/parse_helpers.h"

namespace fsr::sim::ptx {
namespace {

using Kind = Operand::Kind;

TEST_CASE("an opcode is split at its dots, and :: stays joined") {
  const Instruction instruction = ParseInstructionOrFail(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];");
  CHECK(instruction.opcode == "cp");
  CHECK(instruction.modifiers ==
        std::vector<std::string>{"async", "bulk", "shared::cluster", "global", "mbarrier::complete_tx::bytes"});
  CHECK(instruction.full == "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes");
  REQUIRE(instruction.operands.size() == 4);
  CHECK(instruction.operands[0].kind == Kind::kAddress);
  CHECK(instruction.operands[2].kind == Kind::kRegister);
  CHECK(instruction.operands[3].name == "%r3");
}

TEST_CASE("an opcode may be written with blanks before its modifiers") {
  CHECK(ParseInstructionOrFail("add .s32 %r1, %r2, 1;").full == "add.s32");
}

TEST_CASE("a guard is a predicate, negated or not") {
  const Instruction plain = ParseInstructionOrFail("@%p1 mov.u32 %r1, 1;");
  REQUIRE(plain.guard.has_value());
  CHECK(plain.guard->name == "%p1");
  CHECK_FALSE(plain.guard->negated);
  const Instruction negated = ParseInstructionOrFail("@!%p2 mov.u32 %r1, 1;");
  CHECK(negated.guard->name == "%p2");
  CHECK(negated.guard->negated);
  CHECK_FALSE(ParseInstructionOrFail("mov.u32 %r1, 1;").guard.has_value());
}

TEST_CASE("integer immediates are kept in two's complement") {
  const auto bits = [](std::string_view text) {
    const Instruction instruction = ParseInstructionOrFail("mov.b64 %rd1, " + std::string(text) + ";");
    CHECK(instruction.operands[1].kind == Kind::kImmediate);
    CHECK_FALSE(instruction.operands[1].is_float);
    return instruction.operands[1].bits;
  };
  CHECK(bits("42") == 42);
  CHECK(bits("-1") == 0xffffffffffffffffu);
  CHECK(bits("0x3fb8aa3bU") == 0x3fb8aa3bu);
  CHECK(bits("0X1F") == 31);
  CHECK(bits("017") == 15);
  CHECK(bits("0b101") == 5);
  CHECK(bits("18446744073709551615") == 0xffffffffffffffffu);
  CHECK(bits("~0") == 0xffffffffffffffffu);
  CHECK(bits("(1 << 4) | 2 + 3 * 4") == 30);  // 16 | 14
  CHECK(bits("10 - 3 - 2") == 5);
  CHECK(bits("-9223372036854775808 / -1") == 0x8000000000000000u);
  CHECK(bits("WARP_SZ") == 32);
}

TEST_CASE("float immediates are the bits of a double, widened exactly") {
  const auto bits = [](std::string_view text) {
    const Instruction instruction = ParseInstructionOrFail("mov.f32 %f1, " + std::string(text) + ";");
    CHECK(instruction.operands[1].is_float);
    return instruction.operands[1].bits;
  };
  CHECK(bits("0f3F800000") == std::bit_cast<uint64_t>(1.0));
  CHECK(bits("0fBFC90FDA") == std::bit_cast<uint64_t>(-1.57079625129699707031));
  CHECK(bits("0d4004000000000000") == std::bit_cast<uint64_t>(2.5));
  CHECK(bits("1.5e-1") == std::bit_cast<uint64_t>(0.15));
  CHECK(bits("-2.0") == std::bit_cast<uint64_t>(-2.0));
  // A signalling NaN must not become a quiet one: sign 1, mantissa 0x000001 in the top bits of the wider one.
  CHECK(bits("0fFF800001") == 0xfff0000020000000u);
  CHECK(bits("0f7FFFFFFF") == 0x7fffffffe0000000u);
}

TEST_CASE("an address is a register or a symbol with an offset, or a number") {
  const auto address = [](std::string_view text) {
    const Instruction instruction = ParseInstructionOrFail("ld.global.u32 %r1, " + std::string(text) + ";");
    REQUIRE(instruction.operands[1].kind == Kind::kAddress);
    return instruction.operands[1];
  };
  CHECK(address("[%rd1]").name == "%rd1");
  CHECK(address("[%rd1+8]").offset == 8);
  CHECK(address("[%rd1+-4]").offset == -4);
  CHECK(address("[%rd1-4]").offset == -4);
  CHECK(address("[%rd1 + 4*8 + 2]").offset == 34);
  CHECK_FALSE(address("[%rd1+8]").is_symbol_base);
  CHECK(address("[table+4608]").is_symbol_base);
  CHECK(address("[table+4608]").name == "table");
  CHECK(address("[k_param_0]").is_symbol_base);
  CHECK(address("[4096]").name.empty());
  CHECK(address("[4096]").offset == 4096);
}

TEST_CASE("a tensor copy keeps its coordinates in the address") {
  const Instruction instruction =
      ParseInstructionOrFail("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd9, {%r2, %r3}], [%r4];");
  const Operand& tensor = instruction.operands.at(0);
  CHECK(tensor.kind == Kind::kAddress);
  CHECK(tensor.name == "%rd9");
  REQUIRE(tensor.elements.size() == 1);
  REQUIRE(tensor.elements[0].kind == Kind::kVector);
  CHECK(tensor.elements[0].elements.at(1).name == "%r3");
}

TEST_CASE("vectors hold registers, immediates and sinks") {
  const Instruction load = ParseInstructionOrFail("ld.global.v4.f32 {%f1, _, %f3, %f4}, [%rd1];");
  REQUIRE(load.operands[0].elements.size() == 4);
  CHECK(load.operands[0].elements[0].name == "%f1");
  CHECK(load.operands[0].elements[1].kind == Kind::kSink);
  const Instruction move = ParseInstructionOrFail("mov.b64 %rd1, {%r1, 0};");
  CHECK(move.operands[1].elements.at(1).kind == Kind::kImmediate);
}

TEST_CASE("a second destination follows a bar") {
  const Instruction compare = ParseInstructionOrFail("setp.lt.s32 %p1|%p2, %r1, %r2;");
  CHECK(compare.operands[0].name == "%p1");
  CHECK(compare.operands[0].second == "%p2");
  const Instruction elect = ParseInstructionOrFail("elect.sync _|%p3, 0xffffffff;");
  CHECK(elect.operands[0].kind == Kind::kSink);
  CHECK(elect.operands[0].second == "%p3");
  CHECK(ParseInstructionOrFail("setp.lt.s32 %p1|_, %r1, %r2;").operands[0].second.empty());
}

TEST_CASE("special registers are registers, other undeclared names are symbols") {
  CHECK(ParseInstructionOrFail("mov.u32 %r1, %tid.x;").operands[1].kind == Kind::kRegister);
  CHECK(ParseInstructionOrFail("mov.u32 %r1, %tid.x;").operands[1].name == "%tid.x");
  CHECK(ParseInstructionOrFail("mov.b32 %r1, %envreg3;").operands[1].name == "%envreg3");
  const Instruction address = ParseInstructionOrFail("mov.u64 %rd1, _ZZ6reduceE1w+16;");
  CHECK(address.operands[1].kind == Kind::kSymbol);
  CHECK(address.operands[1].name == "_ZZ6reduceE1w");
  CHECK(address.operands[1].offset == 16);
}

TEST_CASE("a video instruction keeps the selectors of its registers") {
  const Instruction instruction = ParseInstructionOrFail("vadd.s32.s32.s32 %r1, %r2.b0, %r3.h1;");
  CHECK(instruction.operands[1].kind == Kind::kRegister);
  CHECK(instruction.operands[1].name == "%r2.b0");
}

TEST_CASE("a tensor core instruction takes its fragments and its negated predicate") {
  const Instruction instruction = ParseInstructionOrFail(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, !%p1, 1, -1, 0, 1;");
  REQUIRE(instruction.operands.size() == 8);
  CHECK(instruction.operands[0].elements.size() == 4);
  CHECK(instruction.operands[3].negated);
  CHECK(instruction.operands[5].bits == ~uint64_t{0});
}

TEST_CASE("an instruction without operands stands alone") {
  CHECK(ParseInstructionOrFail("ret;").operands.empty());
  CHECK(ParseInstructionOrFail("wgmma.fence.sync.aligned;").opcode == "wgmma");
}

}  // namespace
}  // namespace fsr::sim::ptx
