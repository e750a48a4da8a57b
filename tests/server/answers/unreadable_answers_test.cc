// Shapes of answers that hold no candidate, each with what the generator is told.
#include <catch2/catch.hpp>

#include "common/launch_plan.h"
#include "server/answers/limits.h"
#include "tests/server/answers/answer_fixture.h"

namespace fsr::testing {
namespace {

using Catch::Contains;

struct Shape {
  const char* name;
  std::string answer;
  std::string signature;
  std::string says;
};

UnreadableAnswer Unreadable(const std::string& answer, const std::string& shown = "") {
  const v1::Task task;
  const auto read = ReadAnswer(answer, {task, shown});
  INFO(answer);
  REQUIRE(std::holds_alternative<UnreadableAnswer>(read));
  return std::get<UnreadableAnswer>(read);
}

void CheckAll(const std::vector<Shape>& shapes, const std::string& shown = "") {
  for (const Shape& shape : shapes) {
    INFO(shape.name);
    const UnreadableAnswer unreadable = Unreadable(shape.answer, shown);
    CHECK(unreadable.outcome == (shape.signature == "answer_without_launch" ? v1::LAUNCH_ERROR : v1::COMPILE_ERROR));
    CHECK(unreadable.signature == shape.signature);
    CHECK_THAT(unreadable.diagnosis, Contains(shape.says));
  }
}

TEST_CASE("an answer without code says how to answer") {
  CheckAll({
      {"nothing", "", "answer_empty", "```cuda"},
      {"blanks", " \n\t\xEF\xBB\xBF\xE2\x80\x8B", "answer_empty", "empty"},
      {"an empty block", "```cuda\n```", "answer_without_code", "None of the answer's 1 blocks"},
      {"prose", "You could write a __global__ function.", "answer_without_code", "no fenced block"},
      {"other languages", "```bash\nls\n```\n```\nplain\n```", "answer_without_code", "None of the answer's 2 blocks"},
      {"a part of a file", "```cuda\n// fsr: launch f grid=(1) block=(1)\n__device__ int x;\n```",
       "answer_without_kernel", "no __global__ function"},
      {"a kernel in a comment", "```cuda\n// fsr: launch f grid=(1) block=(1)\n// __global__ void f() {}\n```",
       "answer_without_kernel", "part of a file"},
      {"a refusal", "I'm sorry, but I can't help with that.", "answer_refused", "none will be given"},
      {"a refusal with a typographic apostrophe", "I can\xE2\x80\x99t write this kernel.", "answer_refused", "no code"},
  });
}

TEST_CASE("an answer that was cut off says so") {
  CheckAll({
      {"in an open block", "Here:\n```cuda\n" + kFile.substr(0, kFile.size() - 2), "answer_cut_off", "in line 3 of it"},
      {"in an open comment", "```cuda\n" + kFile + "/* and", "answer_cut_off", "cut off"},
      {"without a fence", kFile.substr(0, kFile.size() - 2), "answer_cut_off", "cut off"},
      {"in an element", "<answer>\n" + kFile.substr(0, kFile.size() - 2), "answer_cut_off", "cut off"},
      {"while thinking", "<think>\nWe need a kernel and", "answer_cut_off", "still thinking"},
      {"while thinking, with a draft of a part", "<think>\n```cuda\n" + kKernel + "```\nHm", "answer_cut_off",
       "thinking"},
      {"in a JSON string", "{\"code\": \"// fsr: launch f grid=(1) block=(1)\\n__global__ void f() {\\n",
       "answer_cut_off", "cut off"},
      {"in an edit", "<<<<<<< SEARCH\n}\n=======\n  x;\n", "answer_cut_off", "cut off"},
      {"as long as may be", std::string(kCompletionBytesMax, 'x'), "answer_too_long", "1048576 bytes"},
  });
}

TEST_CASE("a kernel that nobody knows how to launch is a launch error that says how to write the line") {
  const UnreadableAnswer unreadable = Unreadable(Fenced(kKernel));
  CHECK(unreadable.outcome == v1::LAUNCH_ERROR);
  CHECK(unreadable.signature == "answer_without_launch");
  CHECK_THAT(unreadable.diagnosis, Contains("// fsr: launch f grid=("));
  CHECK(unreadable.source == kKernel);  // the next prompt shows it
  CHECK(Unreadable(Fenced("// fsr: tune T = 1\n" + kKernel)).signature == "answer_without_launch");
  CHECK(Unreadable("It is:\n\n" + kKernel).signature == "answer_without_launch");
}

TEST_CASE("a whole program is told what is wanted instead") {
  const std::string launch = "void run(float* y) { f<<<1, 32>>>(y, 32); }\n";
  CheckAll({
      {"main", Fenced(kFile + "int main() { return 0; }\n"), "answer_with_host_code", "main()"},
      {"a launch", Fenced(kKernel + launch), "answer_with_host_code", "<<<"},
      {"memory", Fenced(kKernel + "void run() { cudaMalloc(&p, 4); }\n"), "answer_with_host_code", "cudaMalloc()"},
      {"bound to Python", Fenced(kKernel + "PYBIND11_MODULE(a, m) {}\n"), "answer_with_host_code", "// fsr: scratch"},
      {"Python around it", "```python\nsource = '''\n" + kKernel + "'''\n```", "answer_with_host_code", "Python"},
      {"only the host's part", "```cpp\nint main() { run(); }\n```", "answer_with_host_code", "main()"},
  });
  CHECK(Unreadable(Fenced(kKernel + launch)).source == kKernel + launch);
  // What only looks like it is none.
  const v1::Task task;
  for (const char* line :
       {"// int main() { f<<<1, 1>>>(); }\n", "__device__ int domain(int x) { return x << (1 << 2); }\n",
        "__device__ void cudaMalloc_like() {}\n"}) {
    CHECK(std::holds_alternative<std::string>(ReadAnswer(Fenced(line + kFile), {task, ""})));
  }
}

TEST_CASE("an edit that does not apply says which and why") {
  const auto edit = [](const std::string& search, const std::string& replace) {
    return "<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n";
  };
  const std::string good = edit("}\n", "}\n// end\n");
  CheckAll(
      {
          {"a line that is not there", good + edit("  int z = 4;\n", ""), "edit_does_not_apply",
           "edit 2 of 2 does not apply: the file has no line `int z = 4;`"},
          {"lines that are not together", edit(kLaunch + "}\n", ""), "edit_does_not_apply",
           "do not stand one after the other"},
          {"nothing to search for", edit("", "x\n"), "edit_does_not_apply", "its place is unknown"},
          {"a hunk that does not fit", "```diff\n@@ -1 +1 @@\n-int z;\n+int y;\n```", "edit_does_not_apply",
           "`int z;`"},
          {"a result without its launch line", edit(kLaunch, ""), "answer_without_launch", "no launch line"},
      },
      kFile);
  CheckAll({{"lines that stand twice", edit("  ++*y;\n", ""), "edit_does_not_apply", "at 2 places"}},
           "__global__ void f(int* y) {\n  ++*y;\n  ++*y;\n}\n");
  CheckAll({{"no file to edit", good, "edit_without_file", "no file to change"}});
}

TEST_CASE("limits hold exactly") {
  const std::string filler(kSourceBytesMax - kFile.size(), ' ');
  CheckAll({{"source", Fenced(kFile + filler + "\n"), "source_too_long", "524289 bytes long; at most 524288"}});
  std::string edits;
  for (int i = 0; i < kEditsMax; ++i) edits += "<<<<<<< SEARCH\n}\n=======\n}\n>>>>>>> REPLACE\n";
  const v1::Task task;
  CHECK(std::holds_alternative<std::string>(ReadAnswer(edits, {task, kFile})));
  CheckAll({{"edits", edits + "<<<<<<< SEARCH\n}\n=======\n}\n>>>>>>> REPLACE\n", "edit_does_not_apply",
             "201 edits, and at most 200"}},
           kFile);
  const std::string large = kFile + std::string(kEditSearchBytesMax / 100 - kFile.size(), ' ');
  std::string hundred = edits.substr(0, edits.size() / 2);
  CHECK(std::holds_alternative<std::string>(ReadAnswer(hundred, {task, large})));
  CheckAll({{"edits of a large file", hundred, "edit_does_not_apply", "too many for a file"}},
           large + std::string(100, ' '));
}

}  // namespace
}  // namespace fsr::testing
