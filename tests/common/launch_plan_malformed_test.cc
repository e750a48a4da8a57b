// Every way to write a `// fsr:` line wrongly: an error that names the line, never a guess.
#include <catch2/catch.hpp>
#include <sstream>

#include "common/launch_plan.h"
#include "common/status.h"
#include "tests/common/task_fixture.h"

namespace fsr {
namespace {

struct Malformed {
  const char* line;
  const char* complaint;  // a part of it
};

const std::string kGoodLaunch = "// fsr: launch k grid=(1) block=(1)\n";

std::string Complaint(const std::string& source) {
  const absl::Status status = ParseLaunchPlan(source, SmallTask()).status();
  CHECK((status.ok() || absl::IsInvalidArgument(status)));
  return MessageOf(status);
}

std::string Repeated(int count, const std::string& before, const std::string& after) {
  std::string text;
  for (int i = 0; i < count; ++i) text += before + std::to_string(i) + after;
  return text;
}

// As line 3, beside a good launch.
void CheckAll(const std::vector<Malformed>& all) {
  for (const Malformed& malformed : all) {
    INFO(malformed.line);
    const std::string complaint = Complaint("\n\n" + std::string(malformed.line) + "\n" + kGoodLaunch);
    CHECK_THAT(complaint, Catch::StartsWith("line 3:") && Catch::Contains(malformed.complaint));
  }
}

}  // namespace

TEST_CASE("a line that is no known directive is refused, with the word that was probably meant") {
  CheckAll({{"// fsr: lanch k grid=(1) block=(1)", "did you mean launch?"},
            {"// fsr: grid=(1)", "unknown word"},
            {"// fsr:", "but the line ends"},
            {"// fsr: 5", "expected a word"},
            {"// fsr launch k grid=(1) block=(1)", "with a colon"},
            {"// FSR: tune A = 1", "lower case"},
            {"/// fsr: fill y 0", "starts with"},
            {"/* fsr: fill y 0 */", "starts with"},
            {"int a; // fsr: fill y 0", "line of its own"},
            {"// fsr: fill y 0 \\", "backslash"},
            {"// fsr: fill y \\\n0", "backslash"}});
}

TEST_CASE("malformed tune lines are refused") {
  CheckAll({{"// fsr: tune", "a tunable's name"},
            {"// fsr: tune A", "\"=\""},
            {"// fsr: tune A =", "whole number"},
            {"// fsr: tune A = 1,", "whole number"},
            {"// fsr: tune A = 1 2", "unexpected text"},
            {"// fsr: tune A = 1, 2, 1", "twice"},
            {"// fsr: tune A = 1.5", "whole number"},
            {"// fsr: tune A = 0x10", "whole number"},
            {"// fsr: tune A = B", "whole number"},
            {"// fsr: tune A = 99999999999999999999", "64 bits"},
            {"// fsr: tune 4A = 1", "a tunable's name"},
            {"// fsr: tune n = 1", "the name n is taken"},
            {"// fsr: tune x = 1", "already an input buffer"}});
}

TEST_CASE("malformed scratch lines are refused") {
  CheckAll({{"// fsr: scratch", "a scratch buffer's name"},
            {"// fsr: scratch s", "element type"},
            {"// fsr: scratch s float[n]", "unknown element type"},
            {"// fsr: scratch s f23[n]", "did you mean f32?"},
            {"// fsr: scratch s f32", "\"[\""},
            {"// fsr: scratch s f32(n)", "\"[\""},
            {"// fsr: scratch s f32[n", "\"]\""},
            {"// fsr: scratch s f32[]", "it ends"},
            {"// fsr: scratch s f32[n] 0", "unexpected text"},
            {"// fsr: scratch s f32[m]", "m is not known"},
            {"// fsr: scratch s f32[factor]", "factor is a scalar"},
            {"// fsr: scratch y f32[n]", "the name y is taken"}});
}

TEST_CASE("malformed fill lines are refused") {
  CheckAll({{"// fsr: fill", "a buffer's name"},
            {"// fsr: fill y", "a byte"},
            {"// fsr: fill y 256", "from 0 to 255"},
            {"// fsr: fill y -1", "from 0 to 255"},
            {"// fsr: fill y 0.0", "a byte"},
            {"// fsr: fill y 0 0", "unexpected text"},
            {"// fsr: fill z 0", "z is not known"},
            {"// fsr: fill x 0", "x is an input buffer"},
            {"// fsr: fill n 0", "n is a size"}});
  CHECK_THAT(Complaint("// fsr: fill y 0\n// fsr: fill y 1\n" + kGoodLaunch),
             Catch::Contains("line 2: fill: y is filled twice"));
}

TEST_CASE("malformed launch lines are refused") {
  CheckAll({{"// fsr: launch", "a kernel's name"},
            {"// fsr: launch grid=(1) block=(1)", "a key such as"},
            {"// fsr: launch k", "grid=(...) is missing"},
            {"// fsr: launch k grid=(1)", "block=(...) is missing"},
            {"// fsr: launch k block=(1)", "grid=(...) is missing"},
            {"// fsr: launch k gird=(1) block=(1)", "did you mean grid?"},
            {"// fsr: launch k grid=1 block=(1)", "grid needs parentheses"},
            {"// fsr: launch k grid(1) block=(1)", "\"=\""},
            {"// fsr: launch k grid=() block=(1)", "empty"},
            {"// fsr: launch k grid=(1 block=(1)", "closing parenthesis"},
            {"// fsr: launch k grid=(1) block=(1", "closing parenthesis"},
            {"// fsr: launch k grid=(1,) block=(1)", "nothing stands before"},
            {"// fsr: launch k grid=(,1) block=(1)", "nothing stands before"},
            {"// fsr: launch k grid=(1,1,1,1) block=(1)", "more than 3"},
            {"// fsr: launch k grid=(1) block=(1) grid=(2)", "twice"},
            {"// fsr: launch k grid=(1), block=(1)", "a key such as"},
            {"// fsr: launch k grid=(1) block=(1) shared", "\"=\""},
            {"// fsr: launch k grid=(1) block=(1) shared=", "it ends"},
            {"// fsr: launch k grid=(1) block=(1) shared=4k", "decimal"},
            {"// fsr: launch k grid=(1) block=(1) cooperative=1", "no value"},
            {"// fsr: launch k grid=(1) block=(1) extra", "unknown key"},
            {"// fsr: launch k grid=(1) block=(1);", "a key such as"},
            {"// fsr: launch k grid=(1 +) block=(1)", "grid: "},
            {"// fsr: launch k grid=(m) block=(1)", "m is not known"},
            {"// fsr: launch k grid=(x) block=(1)", "x is an input buffer"},
            {"// fsr: launch k grid=(1) block=(1) args=(x, z)", "z is not known"},
            {"// fsr: launch k grid=(1) block=(1) args=(x + 1)", "x is an input buffer"},
            {"// fsr: launch k grid=(1) block=(1) args=(x y)", "expected an operator"},
            {"// fsr: launch k grid=(1) block=(1) args=x", "args needs parentheses"},
            {"// fsr: launch k<<<1, 2>>>", "instead of <<<...>>>"},
            {"// fsr: launch k<2 grid=(1) block=(1)", "cannot stand in"},
            {"// fsr: launch k<2", "\">\""},
            {"// fsr: launch k<\"a\"> grid=(1) block=(1)", "cannot stand in"},
            {"// fsr: launch a:b grid=(1) block=(1)", "\"::\""},
            {"// fsr: launch a:: grid=(1) block=(1)", "a key such as"}});
}

TEST_CASE("malformed tensor map lines are refused") {
  CheckAll({{"// fsr: tensor_map", "a tensor map's name"},
            {"// fsr: tensor_map t x", "\"=\""},
            {"// fsr: tensor_map t = ", "a buffer's name"},
            {"// fsr: tensor_map t = x box=(64)", "dims=(...) is missing"},
            {"// fsr: tensor_map t = x dims=(n)", "box=(...) is missing"},
            {"// fsr: tensor_map t = x dims=(n) box=(1, 2)", "dims has 1 entries but box has 2"},
            {"// fsr: tensor_map t = x dims=(1,1,1,1,1,1) box=(1)", "more than 5"},
            {"// fsr: tensor_map t = x dims=(n) box=(64) swizzle=256B", "unknown swizzle"},
            {"// fsr: tensor_map t = x dims=(n) box=(64) swizzle=128b", "did you mean 128B?"},
            {"// fsr: tensor_map t = x dims=(n) box=(64) swizle=128B", "did you mean swizzle?"},
            {"// fsr: tensor_map t = n dims=(n) box=(64)", "n is a size"},
            {"// fsr: tensor_map x = x dims=(n) box=(64)", "the name x is taken"}});
}

TEST_CASE("only options of the list are accepted") {
  CheckAll({{"// fsr: option", "unknown option"},
            {"// fsr: option -O3", "unknown option"},
            {"// fsr: option --use-fast-math", "did you mean --use_fast_math?"},
            {"// fsr: option --use_fast_math --restrict", "unexpected text"},
            {"// fsr: option --include-path=/etc", "unknown option"},
            {"// fsr: option -DX=1", "unknown option"},
            {"// fsr: option --maxrregcount=", "whole number"},
            {"// fsr: option --maxrregcount=8", "out of range"},
            {"// fsr: option --maxrregcount=256", "out of range"},
            {"// fsr: option --maxrregcount=64x", "whole number"}});
}

TEST_CASE("a name cannot be defined twice, whatever it names") {
  CHECK_THAT(Complaint("// fsr: tune A = 1\n// fsr: tune A = 2\n" + kGoodLaunch),
             Catch::Contains("line 2: tune: the name A"));
  CHECK_THAT(Complaint("// fsr: tune A = 1\n// fsr: scratch A f32[n]\n" + kGoodLaunch),
             Catch::Contains("line 2: scratch: the name A is taken: it is already a tunable"));
  CHECK_THAT(Complaint("// fsr: scratch s f32[n]\n// fsr: tensor_map s = x dims=(n) box=(4)\n" + kGoodLaunch),
             Catch::Contains("line 2: tensor_map: the name s"));
}

TEST_CASE("a source without a launch says so") {
  CHECK_THAT(Complaint("__global__ void k() {}"), Catch::Contains("no launch line"));
  CHECK_THAT(Complaint(""), Catch::Contains("no launch line"));
}

TEST_CASE("a NUL byte, which would hide the rest from the compiler, is refused") {
  CHECK_THAT(Complaint(kGoodLaunch + "int a;" + std::string(1, '\0')),
             Catch::StartsWith("line 2:") && Catch::Contains("NUL"));
}

TEST_CASE("everything that is wrong is told at once, a line each") {
  std::istringstream lines(Complaint("// fsr: lunch\n// fsr: tune\n// fsr: fill y 300\n"));
  std::vector<std::string> starts;
  for (std::string line; std::getline(lines, line);) starts.push_back(line.substr(0, 7));
  CHECK(starts == std::vector<std::string>{"line 1:", "line 2:", "line 3:"});
}

TEST_CASE("each kind of line has a limit, and the limit itself is allowed") {
  const auto check = [](int count_max, const std::string& before, const std::string& after, const std::string& rest) {
    CHECK(Complaint(Repeated(count_max, before, after) + rest).empty());
    const std::string complaint = Complaint(Repeated(count_max + 1, before, after) + rest);
    CHECK_THAT(complaint, Catch::StartsWith("line " + std::to_string(count_max + 1) + ":") &&
                              Catch::Contains("more than " + std::to_string(count_max)));
  };
  check(kTunablesMax, "// fsr: tune T", " = 1\n", kGoodLaunch);
  check(kScratchBuffersMax, "// fsr: scratch s", " f32[n]\n", kGoodLaunch);
  check(kLaunchesMax, "// fsr: launch k", " grid=(1) block=(1)\n", "");
  check(kTensorMapsMax, "// fsr: tensor_map t", " = x dims=(n) box=(4)\n", kGoodLaunch);
  check(kOptionsMax, "// fsr: option --maxrregcount=2", "\n", kGoodLaunch);
}

TEST_CASE("values, arguments and bytes have limits, and the limits themselves are allowed") {
  const auto tune = [](int count) {
    return "// fsr: tune A = 1000" + Repeated(count - 1, ", ", "") + "\n" + kGoodLaunch;
  };
  CHECK(Complaint(tune(kTunableValuesMax)).empty());
  CHECK_THAT(Complaint(tune(kTunableValuesMax + 1)), Catch::Contains("more than 64 values"));
  const auto args = [](int count) {
    return "// fsr: launch k grid=(1) block=(1) args=(n" + Repeated(count - 1, ", ", "") + ")";
  };
  CHECK(Complaint(args(kLaunchArgumentsMax)).empty());
  CHECK_THAT(Complaint(args(kLaunchArgumentsMax + 1)), Catch::Contains("more than 64"));
  const std::string full = kGoodLaunch + std::string(static_cast<size_t>(kSourceBytesMax) - kGoodLaunch.size(), ' ');
  CHECK(Complaint(full).empty());
  CHECK_THAT(Complaint(full + " "), Catch::Contains("524289 bytes"));
}

}  // namespace fsr
