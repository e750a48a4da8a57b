#include "tests/worker/ptx/parse_helpers.h"

namespace fsr::sim::ptx {
namespace {

TEST_CASE("a register range is expanded by name") {
  const Function function = ParseBodyOrFail(".reg .b32 %r<3>, x; .reg.b16 hl, hu; ret;");
  CHECK(function.registers.size() == 6);
  CHECK(function.registers.at("%r0").type == "b32");
  CHECK(function.registers.at("%r2").type == "b32");
  CHECK(function.registers.count("%r3") == 0);
  CHECK(function.registers.at("hu").type == "b16");
}

TEST_CASE("a register declared in inner braces hides the outer one until they close") {
  // As the compiler's own division routine does: %r1 inside is not the function's %r1.
  const Function function = ParseBodyOrFail(R"(
    .reg .b32 %r<3>;
    mov.u32 %r1, 1;
    {
      .reg .u32 %r1;
      mov.u32 %r1, 2;
      { mov.u32 %r1, %r2; }
    }
    mov.u32 %r1, 3;)");
  const auto destination = [&](size_t index) { return function.instructions.at(index).operands.at(0).name; };
  CHECK(destination(0) == "%r1");
  CHECK(destination(1) != "%r1");
  CHECK(destination(2) == destination(1));
  CHECK(function.instructions[2].operands[1].name == "%r2");
  CHECK(destination(3) == "%r1");
  CHECK(function.registers.at(destination(1)).type == "u32");
}

TEST_CASE("two braces that declare the same register have two registers") {
  const Function function = ParseBodyOrFail("{ .reg .pred p; setp.eq.s32 p, 1, 2; } { .reg .b32 p; mov.u32 p, 1; }");
  const std::string first = function.instructions.at(0).operands.at(0).name;
  const std::string second = function.instructions.at(1).operands.at(0).name;
  CHECK(first != second);
  CHECK(function.registers.at(first).type == "pred");
  CHECK(function.registers.at(second).type == "b32");
}

TEST_CASE("a jump goes to the label of its own braces, though another has the same name") {
  const Function function = ParseBodyOrFail(R"(
    { bra DONE; trap; DONE: }
    { bra DONE; trap; trap; DONE: }
    ret;)");
  const auto target = [&](size_t index) {
    return function.labels.at(function.instructions.at(index).operands.at(0).name);
  };
  CHECK(target(0) == 2);
  CHECK(target(2) == 5);
}

TEST_CASE("a jump out of braces finds the label of the function") {
  const Function function = ParseBodyOrFail("{ .reg .pred p; @p bra END; } trap; END: ret;");
  CHECK(function.labels.at(function.instructions.at(0).operands.at(0).name) == 2);
}

TEST_CASE("a label at the end is past the last instruction") {
  CHECK(ParseBodyOrFail("bra END; END:").labels.at("END") == 1);
}

TEST_CASE("a parameter of a call lives in its braces") {
  const Function function = ParseBodyOrFail(R"(
    .reg .b32 %r<9>;
    { .reg .b32 temp_param_reg; .param .b32 param0; st.param.b32 [param0+0], %r4; .param .align 4 .b8 retval0[16];
      call.uni (retval0),
      f,
      (
      param0
      );
      ld.param.b32 %r5, [retval0+4]; }
    { .param .b64 param0; st.param.b64 [param0+0], 1; call.uni g, (param0); })");
  REQUIRE(function.variables.size() == 3);
  const Instruction& call = function.instructions.at(1);
  CHECK(call.opcode == "call");
  CHECK(call.modifiers == std::vector<std::string>{"uni"});
  CHECK(call.callee == "f");
  CHECK(call.call_arguments == std::vector<std::string>{function.variables[0].name});
  CHECK(call.call_returns == std::vector<std::string>{function.variables[1].name});
  CHECK(function.variables[1].bytes() == 16);
  CHECK(function.variables[1].space == StateSpace::kParam);
  CHECK(function.instructions[0].operands[0].name == function.variables[0].name);
  CHECK(function.instructions[2].operands[1].name == function.variables[1].name);
  const Instruction& second = function.instructions.at(4);
  CHECK(second.callee == "g");
  CHECK(second.call_returns.empty());
  CHECK(second.call_arguments == std::vector<std::string>{function.variables[2].name});
  CHECK(function.variables[2].name != function.variables[0].name);
}

TEST_CASE("an indirect call names its register, and its prototype is no label") {
  const Function function = ParseBodyOrFail(R"(
    .reg .b64 %rd<3>; { .param .b32 param0; .param .b32 retval0;
    prototype_6 : .callprototype (.param .b32 _) _ (.param .b32 _);
    call (retval0), %rd1, (param0), prototype_6; })");
  CHECK(function.instructions.at(0).callee == "%rd1");
  CHECK(function.labels.empty());
}

TEST_CASE("a call without arguments needs no parentheses") {
  const Function function = ParseBodyOrFail("call.uni f; call (), g, ();");
  CHECK(function.instructions.at(0).callee == "f");
  CHECK(function.instructions.at(1).callee == "g");
  CHECK(function.instructions.at(1).call_arguments.empty());
}

TEST_CASE("a jump table lists labels") {
  const Function function = ParseBodyOrFail(R"(
    .reg .b32 %r<2>;
    $L_table: .branchtargets $L_a, $L_b, $L_a;
    brx.idx %r1, $L_table;
    $L_a: trap;
    $L_b: ret;)");
  CHECK(function.branch_targets.at("$L_table") == std::vector<std::string>{"$L_a", "$L_b", "$L_a"});
  CHECK(function.labels.count("$L_table") == 0);
  CHECK(function.instructions.at(0).operands.at(1).name == "$L_table");
}

TEST_CASE("a register vector stands for its elements") {
  const Function function =
      ParseBodyOrFail(".reg .v2 .b32 vv; .reg .b64 %rd<2>; mov.b32 vv.x, 1; st.global.v2.b32 [%rd1], vv;");
  CHECK(function.registers.at("vv.x").type == "b32");
  CHECK(function.registers.count("vv") == 0);
  CHECK(function.instructions.at(0).operands.at(0).name == "vv.x");
  const Operand& whole = function.instructions.at(1).operands.at(1);
  REQUIRE(whole.kind == Operand::Kind::kVector);
  CHECK(whole.elements.at(1).name == "vv.y");
}

}  // namespace
}  // namespace fsr::sim::ptx
