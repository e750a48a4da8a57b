#include <bit>
#include <cstring>

#include "tests/worker/ptx/parse_helpers.h"

namespace fsr::sim::ptx {
namespace {

Variable ParseVariableOrFail(std::string_view text) {
  Module module = ParseModuleOrFail(text);
  REQUIRE(module.variables.size() == 1);
  return std::move(module.variables[0]);
}

template <typename T>
T ValueAt(const Variable& variable, size_t offset) {
  T value;
  REQUIRE(offset + sizeof value <= variable.initial.size());
  std::memcpy(&value, variable.initial.data() + offset, sizeof value);
  return value;
}

TEST_CASE("a variable has its space, type, size and alignment") {
  const Variable table = ParseVariableOrFail(".const .align 4 .b8 table[16] = {0, 0, 128, 63, 0, 0, 0, 64};");
  CHECK(table.space == StateSpace::kConst);
  CHECK(table.bytes() == 16);
  CHECK(table.alignment == 4);
  CHECK(ValueAt<float>(table, 0) == 1.0f);
  CHECK(ValueAt<float>(table, 4) == 2.0f);
  CHECK_FALSE(table.is_extern);

  const Variable vector = ParseVariableOrFail(".visible .global .v4 .f32 v;");
  CHECK(vector.bytes() == 16);
  CHECK(vector.alignment == 16);
  CHECK(vector.initial.empty());

  CHECK(ParseVariableOrFail(".global .align 1 .b8 m[2][3][5];").bytes() == 30);
  CHECK(ParseVariableOrFail(".global .attribute(.managed) .align 4 .u32 man = 3;").bytes() == 4);
}

TEST_CASE("dynamic shared memory is extern and has no size of its own") {
  const Variable shared = ParseVariableOrFail(".extern .shared .align 16 .b8 sh[];");
  CHECK(shared.is_extern);
  CHECK(shared.space == StateSpace::kShared);
  CHECK(shared.element_count == 0);
  CHECK(shared.alignment == 16);
}

TEST_CASE("scalar initial values have the width of their type") {
  CHECK(ValueAt<uint32_t>(ParseVariableOrFail(".global .u32 x = 7;"), 0) == 7);
  CHECK(ValueAt<int16_t>(ParseVariableOrFail(".global .u16 x = -3;"), 0) == -3);
  CHECK(ParseVariableOrFail(".global .u8 x = -128;").initial == std::vector<uint8_t>{128});
  CHECK(ValueAt<uint64_t>(ParseVariableOrFail(".global .u64 x = 9223372032559808512;"), 0) == 0x7fffffff00000000u);
  CHECK(ValueAt<float>(ParseVariableOrFail(".global .f32 x = 0f3FC00000;"), 0) == 1.5f);
  CHECK(ValueAt<double>(ParseVariableOrFail(".global .f64 x = 0d4004000000000000;"), 0) == 2.5);
  CHECK(ValueAt<float>(ParseVariableOrFail(".global .f32 x = 2;"), 0) == 2.0f);
  CHECK(ValueAt<uint32_t>(ParseVariableOrFail(".global .f32 x = 0f7F800001;"), 0) == 0x7f800001u);
}

TEST_CASE("inner braces fill rows, flat values fill one after another") {
  const Variable nested = ParseVariableOrFail(".global .s32 m[2][3] = {{1, 2}, {4, 5, 6}};");
  CHECK(ValueAt<int32_t>(nested, 4) == 2);
  CHECK(ValueAt<int32_t>(nested, 8) == 0);
  CHECK(ValueAt<int32_t>(nested, 12) == 4);
  const Variable flat = ParseVariableOrFail(".global .s32 m[2][3] = {1, 2, 3, 4};");
  CHECK(ValueAt<int32_t>(flat, 12) == 4);
  const Variable open = ParseVariableOrFail(".global .s32 m[][2] = {{1, 2}, {3, 4}, {5}};");
  CHECK(open.element_count == 6);
  CHECK(ValueAt<int32_t>(open, 16) == 5);
}

TEST_CASE("an address within an initial value is a relocation") {
  const Variable record = ParseVariableOrFail(
      ".global .align 8 .u64 record[4] = {4611686018427387905, generic($str), fn, generic(arr)+12};");
  CHECK(ValueAt<uint64_t>(record, 0) == 4611686018427387905u);
  REQUIRE(record.relocations.size() == 3);
  CHECK(record.relocations[0].offset == 8);
  CHECK(record.relocations[0].symbol == "$str");
  CHECK(record.relocations[0].generic);
  CHECK(record.relocations[1].symbol == "fn");
  CHECK_FALSE(record.relocations[1].generic);
  CHECK(record.relocations[2].offset == 24);
  CHECK(record.relocations[2].addend == 12);
}

TEST_CASE("a packed pointer, given byte by byte, is one relocation") {
  const Variable packed = ParseVariableOrFail(
      ".global .align 1 .u8 packed[13] = {120, 0XFF(generic($str)), 0xFF00(generic($str)), 0xFF0000(generic($str)), "
      "0xFF000000(generic($str)), 0xFF00000000(generic($str)), 0xFF0000000000(generic($str)), "
      "0xFF000000000000(generic($str)), 0xFF00000000000000(generic($str)), 5, 0, 0, 0};");
  REQUIRE(packed.relocations.size() == 1);
  CHECK(packed.relocations[0].offset == 1);
  CHECK(packed.relocations[0].symbol == "$str");
  CHECK(packed.initial.at(0) == 120);
  CHECK(packed.initial.at(9) == 5);
}

TEST_CASE("an initial value that does not fit is refused") {
  CHECK_THAT(ParseError(".global .u32 x[2] = {1, 2, 3};"), Catch::Contains("PTX line 4"));
  CHECK_THAT(ParseError(".global .u32 x = generic(y);"), Catch::Contains("8 bytes"));
  CHECK_THAT(ParseError(".global .u32 x = 0f3F800000;"), Catch::Contains("integer"));
  CHECK_THAT(ParseError(".global .u8 x[2] = {0xFF00(generic(y)), 0};"), Catch::Contains("in order"));
  CHECK_THAT(ParseError(".global .u8 x[99999999999999];"), Catch::Contains("larger than"));
  CHECK_THAT(ParseError(".global .u8 x[][1099511627776][1099511627776] = {{{1}}};"), Catch::Contains("larger than"));
  CHECK_THAT(ParseError(".global .u8 x[2][1099511627776] = {{1}, {1}};"), Catch::Contains("larger than"));
  CHECK_THAT(ParseError(".global .u8 x[2][549755813888] = {{1}, {1}};"), Catch::Contains("268435456"));
  CHECK_THAT(ParseError(".global .align 3 .u8 x;"), Catch::Contains("power of two"));
}

}  // namespace
}  // namespace fsr::sim::ptx
