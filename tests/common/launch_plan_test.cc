#include "common/launch_plan.h"

#include <catch2/catch.hpp>

#include "common/status.h"
#include "tests/common/task_fixture.h"

namespace fsr {
namespace {

LaunchPlan Parse(const std::string& source, const LaunchPlan* fixed = nullptr) {
  auto plan = ParseLaunchPlan(source, SmallTask(), fixed);
  INFO(MessageOf(plan.status()));
  REQUIRE(plan.ok());
  return *std::move(plan);
}

std::string Complaint(const std::string& source, const LaunchPlan* fixed = nullptr) {
  return MessageOf(ParseLaunchPlan(source, SmallTask(), fixed).status());
}

std::vector<std::string> Texts(const std::vector<SizeExpression>& expressions) {
  std::vector<std::string> texts;
  for (const SizeExpression& expression : expressions) texts.push_back(expression.text());
  return texts;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("every kind of line is read, wherever it stands among the source's lines") {
  const LaunchPlan plan = Parse(R"(#include <cuda_fp16.h>
// fsr: tune TILE = 32, 16, 64
// fsr: scratch partial f32[ceil_div(n, 256)]
  //fsr:   fill   y   255
// fsr: fill partial 0
// fsr: tensor_map map_x = x dims=(n) box=(64) swizzle=128B
// fsr: option --use_fast_math
// fsr: option --maxrregcount=128
// fsr: launch first grid=(ceil_div(n, TILE), 2) block=(TILE, 8, 1) shared=TILE * (TILE + 1) * 4 cooperative cluster=(2)
// fsr: launch ns::second<256, float> grid=(1) block = (256) args=(partial, map_x, y, n, n / 2, factor)
__global__ void first() {}
)");
  REQUIRE(plan.tunables.size() == 1);
  CHECK(plan.tunables[0].name == "TILE");
  CHECK(plan.tunables[0].values == std::vector<int64_t>{32, 16, 64});
  CHECK(plan.tunables[0].line == 2);
  REQUIRE(plan.scratch.size() == 1);
  CHECK(plan.scratch[0].type == v1::F32);
  CHECK(plan.scratch[0].count.text() == "ceil_div(n, 256)");
  REQUIRE(plan.fills.size() == 2);
  CHECK(plan.fills[0].buffer == "y");
  CHECK(plan.fills[0].byte == 255);
  CHECK(plan.fills[0].line == 4);
  REQUIRE(plan.tensor_maps.size() == 1);
  CHECK(plan.tensor_maps[0].buffer == "x");
  CHECK(plan.tensor_maps[0].swizzle == "128B");
  CHECK(plan.options == Strings{"--use_fast_math", "--maxrregcount=128"});
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.launches[0].kernel == "first");
  CHECK(Texts(plan.launches[0].grid) == Strings{"ceil_div(n, TILE)", "2"});
  CHECK(Texts(plan.launches[0].block) == Strings{"TILE", "8", "1"});
  CHECK(Texts(plan.launches[0].cluster) == Strings{"2"});
  CHECK(plan.launches[0].shared.text() == "TILE * (TILE + 1) * 4");
  CHECK(plan.launches[0].cooperative);
  CHECK_FALSE(plan.launches[0].args_given);
  CHECK(plan.launches[1].kernel == "ns::second<256, float>");
  CHECK(plan.launches[1].args == Strings{"partial", "map_x", "y", "n", "n / 2", "factor"});
  CHECK(plan.launches[1].args_given);
  CHECK_FALSE(plan.launches[1].cooperative);
}

TEST_CASE("a line counts only as a comment: in a string, a raw string or a block comment it is none") {
  const LaunchPlan plan = Parse(R"x(/* a comment of several lines
// nothing: launch one grid=(1) block=(1)
*/
const char* text = R"(
// fsr: launch two grid=(1) block=(1)
)";
const char* other = "// fsr: launch three grid=(1) block=(1)";
// fsr: launch four grid=(1) block=(1)
)x");
  REQUIRE(plan.launches.size() == 1);
  CHECK(plan.launches[0].kernel == "four");
  CHECK(plan.launches[0].line == 8);
}

TEST_CASE("lines end with a carriage return as well") {
  const LaunchPlan plan = Parse("// fsr: tune A = 1, 2\r\n// fsr: launch k grid=(A) block=(1)\r\n");
  CHECK(plan.tunables[0].values == std::vector<int64_t>{1, 2});
}

TEST_CASE("empty args are given args") {
  const LaunchPlan plan = Parse("// fsr: launch k grid=(1) block=(1) args=()");
  CHECK(plan.launches[0].args_given);
  CHECK(plan.launches[0].args.empty());
}

TEST_CASE("the compiler is told the tunables' defaults, then the options") {
  const LaunchPlan plan = Parse(
      "// fsr: option --fmad=false\n// fsr: tune A = 8, 4\n// fsr: tune B = -1\n// fsr: launch k grid=(A) block=(1)");
  CHECK(CompileDefinitions(plan) == Strings{"-DA=8", "-DB=-1", "--fmad=false"});
}

TEST_CASE("pinning keeps everything but the other values of the pinned tunables") {
  const std::string source =
      "int a;\n  // fsr: tune A = 8, 4\n// fsr:tune  B=1,2 , 3\n// fsr: launch k grid=(A) block=(B)\n// tune A = "
      "5\nend";
  const auto pinned = PinTunables(source, {{"A", 4}, {"B", 3}});
  REQUIRE(pinned.ok());
  CHECK(*pinned ==
        "int a;\n  // fsr: tune A = 4\n// fsr: tune B = 3\n// fsr: launch k grid=(A) block=(B)\n// tune A = 5\nend");
  const auto one = PinTunables(source, {{"B", 1}});
  CHECK(Parse(*one).tunables[0].values == std::vector<int64_t>{8, 4});
  CHECK(Parse(*one).tunables[1].values == std::vector<int64_t>{1});
  CHECK(*PinTunables(source, {}) == source);
}

TEST_CASE("a name that is not tunable, and a value that is not offered, cannot be pinned") {
  const std::string source = "// fsr: tune TILE = 8, 4\n// fsr: launch k grid=(1) block=(1)";
  const absl::Status name = PinTunables(source, {{"TIEL", 8}}).status();
  CHECK(absl::IsInvalidArgument(name));
  CHECK_THAT(MessageOf(name), Catch::Contains("TIEL") && Catch::Contains("did you mean TILE?"));
  const absl::Status value = PinTunables(source, {{"TILE", 16}}).status();
  CHECK(absl::IsInvalidArgument(value));
  CHECK_THAT(MessageOf(value), Catch::Contains("line 1") && Catch::Contains("8, 4"));
}

TEST_CASE("a fixed launch is taken over, with its buffers and tunables, whatever the candidate tunes") {
  const LaunchPlan baseline = Parse(
      "// fsr: tune TILE = 32, 64\n// fsr: scratch part f32[n]\n// fsr: launch k grid=(n) block=(TILE) args=(part, n)");
  const LaunchPlan plan = Parse("// fsr: tune UNROLL = 4, 8\n// fsr: fill part 0\n__global__ void k() {}", &baseline);
  REQUIRE(plan.launches.size() == 1);
  CHECK(plan.launches[0].kernel == "k");
  CHECK(plan.scratch.size() == 1);
  CHECK(CompileDefinitions(plan) == Strings{"-DUNROLL=4", "-DTILE=32"});
  CHECK(plan.tunables[1].values == std::vector<int64_t>{32});
  const auto resolved = Resolve(plan, SmallTask(), MakeCase(10, 1));
  REQUIRE(resolved.ok());
  CHECK(resolved->launches[0].block[0] == 32);
}

TEST_CASE("with a fixed launch, lines that say otherwise are errors and lines that say the same are not") {
  const std::string baseline_source =
      "// fsr: tune TILE = 32, 64\n// fsr: scratch part f32[n]\n// fsr: launch k grid=(n) block=(TILE) args=(part, n)";
  const LaunchPlan baseline = Parse(baseline_source);
  CHECK(Parse(baseline_source, &baseline).launches.size() == 1);
  CHECK_THAT(Complaint("\n// fsr: launch k grid=(n) block=(64) args=(part, n)", &baseline),
             Catch::Contains("line 2") && Catch::Contains("fixed"));
  CHECK_THAT(Complaint("// fsr: scratch more f32[n]", &baseline), Catch::Contains("line 1: scratch"));
  CHECK_THAT(Complaint("// fsr: tensor_map m = x dims=(n) box=(64)", &baseline), Catch::Contains("line 1: tensor_map"));
  CHECK_THAT(Complaint("// fsr: tune TILE = 64", &baseline), Catch::Contains("TILE is 32"));
}

}  // namespace fsr
