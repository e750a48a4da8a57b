// The fsr program as a user runs it, with the coordinator and worker it starts itself.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "common/files.h"
#include "tests/integration/stack.h"

namespace fsr {
namespace {

// The bundled transpose with small sizes, as a folder of its own.
std::filesystem::path SmallTaskFolder(const std::filesystem::path& folder) {
  const std::filesystem::path task = folder / "transpose";
  std::filesystem::copy(std::filesystem::path(FSR_SOURCE_DIR) / "tasks/transpose", task,
                        std::filesystem::copy_options::recursive);
  auto yaml = ReadFile(task / "task.yaml", 1 << 20);
  REQUIRE(yaml.ok());
  const std::string large = "measure_simulated: {sizes: {rows: 2048, cols: 2048}}";
  const size_t at = yaml->find(large);
  REQUIRE(at != std::string::npos);
  yaml->replace(at, large.size(), "measure_simulated: {sizes: {rows: 256, cols: 256}}");
  REQUIRE(WriteFileAtomically(task / "task.yaml", *yaml).ok());
  return task;
}

std::string Kernel(const std::string& body,
                   const std::string& launch = "grid=(ceil_div(cols, 32), ceil_div(rows, 8)) block=(32, 8)") {
  return fmt::format(
      "// fsr: launch transpose {}\n"
      "extern \"C\" __global__ void transpose(const float* input, float* output, int rows, int cols) {{\n"
      "  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;\n"
      "{}\n}}\n",
      launch, body);
}

}  // namespace

TEST_CASE("evaluate names what is wrong with a broken kernel, and its line") {
  const std::filesystem::path folder = NewFolder();
  const std::string task = SmallTaskFolder(folder).string();
  struct Broken {
    const char* name;
    std::string source;
    const char* outcome;
    std::vector<std::string> said;
  };
  const std::string right = "  if (r < rows && c < cols) output[(size_t)c * rows + r] = input[(size_t)r * cols + c];";
  const std::vector<Broken> kernels = {
      {"syntax", Kernel("  output[0] = ;"), "COMPILE_ERROR", {"candidate.cu(4)", "expected an expression"}},
      {"bounds",
       Kernel("  output[(size_t)c * rows + r + 1] = 1.0f;"),
       "RUNTIME_FAULT",
       {"line 4", "write", "output", "thread", "block"}},
      {"barrier", Kernel("  if (threadIdx.x < 16) __syncthreads();\n" + right), "RUNTIME_FAULT", {"line 4", "barrier"}},
      {"endless", Kernel("  while (((volatile const float*)input)[0] < 1e30f) {}"), "TIMEOUT", {"line 4"}},
      {"wrong",
       Kernel("  if (r < rows && c < cols) output[(size_t)c * rows + r] = 1.0f + input[(size_t)r * cols + c];"),
       "MISMATCH",
       {"output"}},
      {"nan",
       Kernel("  if (r < rows && c < cols) output[(size_t)c * rows + r] = 0.0f / (input[0] - input[0]);"),
       "MISMATCH",
       {"NaN"}},
      {"launch", Kernel(right, "grid=(cols / 0) block=(32)"), "LAUNCH_ERROR", {"line 1"}},
  };
  for (const Broken& broken : kernels) {
    INFO(broken.name);
    const std::filesystem::path file = folder / (std::string(broken.name) + ".cu");
    REQUIRE(WriteFileAtomically(file, broken.source).ok());
    const ProgramResult result = RunProgram({"evaluate", task, file.string(), "--run-seconds", "2", "--json"}, folder);
    INFO(result.out << result.err);
    CHECK(result.exit_code == 1);
    const auto json = nlohmann::json::parse(result.out, nullptr, false);
    REQUIRE_FALSE(json.is_discarded());
    CHECK(json["outcome"] == broken.outcome);
    const std::string text = json["diagnosis"].get<std::string>() + json["compile_log"].get<std::string>();
    for (const std::string& part : broken.said) CHECK(text.find(part) != std::string::npos);
  }
  REQUIRE(WriteFileAtomically(folder / "right.cu", Kernel(right)).ok());
  const ProgramResult result = RunProgram({"evaluate", task, (folder / "right.cu").string(), "--json"}, folder);
  CHECK(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out, nullptr, false);
  REQUIRE_FALSE(json.is_discarded());
  CHECK(json["outcome"] == "MEASURED");
  CHECK(json["measurement"]["estimated"] == true);
  CHECK(json["measurement"]["latency_us"].get<double>() > 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("run prints the finished job as JSON, and what it found can be read afterwards by every command") {
  const std::filesystem::path folder = NewFolder();
  const std::string task = SmallTaskFolder(folder).string();
  const ProgramResult run = RunProgram({"run", task, "--rounds", "2", "--candidates", "3", "--json"}, folder);
  INFO(run.out << run.err);
  REQUIRE(run.exit_code == 0);
  const auto job = nlohmann::json::parse(run.out, nullptr, false);
  REQUIRE_FALSE(job.is_discarded());
  CHECK(job["state"] == "FINISHED");
  CHECK(job["baseline_latency_us"].get<double>() > job["best_latency_us"].get<double>());
  CHECK(job["speedup"].get<double>() > 1);
  CHECK_FALSE(job["best_source"].get<std::string>().empty());
  const std::string name = job["name"].get<std::string>(), short_name = name.substr(5);

  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"jobs"},
                                             {"job", short_name},
                                             {"candidates", short_name},
                                             {"candidate", short_name + "/1"},
                                             {"candidate", short_name + "/4", "--diff"},
                                             {"dialogue", short_name},
                                             {"best", "transpose"},
                                             {"workers"},
                                             {"tasks"},
                                             {"watch", short_name}}) {
    INFO(command[0]);
    CHECK(RunProgram(command, folder).exit_code == 0);
    std::vector<std::string> as_json = command;
    as_json.push_back("--json");
    const ProgramResult result = RunProgram(as_json, folder);
    CHECK(result.exit_code == 0);
    // watch prints an object a line.
    const std::string first = command[0] == "watch" ? result.out.substr(0, result.out.find('\n')) : result.out;
    CHECK_FALSE(nlohmann::json::parse(first, nullptr, false).is_discarded());
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("bad input gets a sentence and exit code 2") {
  const std::filesystem::path folder = NewFolder();
  const std::string task = SmallTaskFolder(folder).string();
  auto edited = [&](const std::string& name, const std::string& from, const std::string& to,
                    const std::string& file = "task.yaml") {
    const std::filesystem::path copy = folder / name / "transpose";
    std::filesystem::create_directories(copy.parent_path());
    std::filesystem::copy(task, copy, std::filesystem::copy_options::recursive);
    auto text = ReadFile(copy / file, 1 << 20);
    REQUIRE(text.ok());
    const size_t at = text->find(from);
    REQUIRE(at != std::string::npos);
    text->replace(at, from.size(), to);
    REQUIRE(WriteFileAtomically(copy / file, *text).ok());
    return copy.string();
  };
  REQUIRE(WriteFileAtomically(folder / "huge.cu", std::string(2 << 20, ' ')).ok());
  REQUIRE(WriteFileAtomically(folder / "ok.cu", Kernel("")).ok());
  REQUIRE(WriteFileAtomically(folder / "latin1.cu", Kernel("") + "// gr\xf6\xdf").ok());
  struct Bad {
    std::vector<std::string> arguments;
    std::vector<std::string> said;
  };
  const std::vector<Bad> inputs = {
      {{"run", edited("unknown_field", "tolerance:", "tolerence:")}, {"task.yaml", "tolerence", "tolerance"}},
      {{"run", edited("overflow", "rows: 64, cols: 64", "rows: 4000000000, cols: 4000000000")}, {"rows"}},
      {{"run", edited("oracle", "if (r < rows", "if (r < nowhere", "oracle.cu")}, {"oracle", "nowhere"}},
      {{"run", (folder / "nothing").string()}, {"nothing"}},
      {{"evaluate", task, (folder / "missing.cu").string()}, {"missing.cu"}},
      {{"evaluate", task, (folder / "huge.cu").string()}, {"huge.cu"}},
      {{"evaluate", task, (folder / "latin1.cu").string()}, {"source", "UTF-8"}},
      {{"job", "transpose-999"}, {"transpose-999"}},
      {{"run", task, "--device", "sim:abacus"}, {"abacus"}},
      {{"run", task, "--model", "oracle-of-delphi"}, {"oracle-of-delphi"}},
      {{"run", task, "--rounds", "-3"}, {"rounds"}},
      {{"run", task, "--seed", "-1"}, {"seed", "-1"}},
      {{"run", task, "--seed", "18446744073709551616"}, {"seed"}},
      {{"run", task, "--wall-seconds", "nan"}, {"wall_seconds"}},
      {{"evaluate", task, (folder / "ok.cu").string(), "--run-seconds", "-1"}, {"run_seconds"}},
      {{"jobs", "--server", "127.0.0.1:1"}, {"127.0.0.1:1"}},
      {{"frobnicate"}, {"frobnicate"}},
      {{}, {"subcommand"}},
  };
  for (const Bad& bad : inputs) {
    const ProgramResult result = RunProgram(bad.arguments, folder);
    INFO((bad.arguments.empty() ? "" : bad.arguments[0] + " " + bad.arguments.back())
         << ": " << result.out << result.err);
    CHECK(result.exit_code == 2);
    for (const std::string& part : bad.said) CHECK((result.err + result.out).find(part) != std::string::npos);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("a folder of prompts needs to hold only what it replaces, and what it holds must be known") {
  const std::filesystem::path folder = NewFolder();
  const std::string task = SmallTaskFolder(folder).string();
  const std::filesystem::path prompts = folder / "prompts";
  REQUIRE(WriteFileAtomically(prompts / "system.mustache", "You are a poet of kernels. {{>device}}").ok());
  REQUIRE(WriteFileAtomically(prompts / "arch/hopper.md", "A hopper hops.").ok());
  REQUIRE(WriteFileAtomically(prompts / "notes.txt", "no template").ok());
  const std::vector<std::string> run = {"run", task,           "--model", "replay",    "--rounds",
                                        "1",   "--candidates", "1",       "--prompts", prompts.string()};
  const ProgramResult result = RunProgram(run, folder);
  INFO(result.out << result.err);
  CHECK(result.exit_code == 1);  // the recording's first answer does not compile
  const ProgramResult dialogue = RunProgram({"dialogue", "transpose-1"}, folder);
  CHECK(dialogue.out.find("You are a poet of kernels.") != std::string::npos);
  CHECK(dialogue.out.find("A hopper hops.") != std::string::npos);
  REQUIRE(WriteFileAtomically(prompts / "sytem.mustache", "x").ok());
  const ProgramResult unknown = RunProgram(run, folder);
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("sytem.mustache") != std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a new task's skeleton passes its own lint, and a task that a zero kernel passes does not") {
  const std::filesystem::path folder = NewFolder();
  const std::filesystem::path task = folder / "scaled";
  REQUIRE(RunProgram({"task", "new", task.string()}, folder).exit_code == 0);
  CHECK(RunProgram({"task", "new", task.string()}, folder).exit_code == 2);  // it is there already
  auto yaml = ReadFile(task / "task.yaml", 1 << 20);
  REQUIRE(yaml.ok());
  auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = yaml->find(from);
    REQUIRE(at != std::string::npos);
    yaml->replace(at, from.size(), to);
    REQUIRE(WriteFileAtomically(task / "task.yaml", *yaml).ok());
  };
  replace("measure_simulated: {sizes: {n: 1048576}", "measure_simulated: {sizes: {n: 4096}");
  const ProgramResult lint = RunProgram({"task", "lint", task.string()}, folder);
  INFO(lint.out << lint.err);
  CHECK(lint.exit_code == 0);
  replace("absolute: 0, relative: 1.0e-6", "absolute: 1000, relative: 1.0e-6");
  const ProgramResult loose = RunProgram({"task", "lint", task.string()}, folder);
  CHECK(loose.exit_code == 1);
  CHECK(loose.out.find("zero") != std::string::npos);
  const ProgramResult as_json = RunProgram({"task", "lint", task.string(), "--json"}, folder);
  CHECK(as_json.exit_code == 1);
  CHECK(as_json.err.find("zero") != std::string::npos);
  CHECK_FALSE(nlohmann::json::parse(as_json.out, nullptr, false).is_discarded());
  std::filesystem::remove_all(folder);
}

}  // namespace fsr
