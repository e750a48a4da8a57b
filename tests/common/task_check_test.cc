#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <limits>

#include "common/files.h"
#include "common/launch_plan.h"
#include "common/random.h"
#include "common/status.h"
#include "common/task_loader.h"
#include "tests/common/task_fixture.h"

namespace fsr {
namespace {

namespace fs = std::filesystem;

struct Flaw {
  const char* complaint;  // a part of it
  std::function<void(v1::Task&)> make;
};

std::string ComplaintOf(const std::function<void(v1::Task&)>& make) {
  v1::Task task = SmallTask();
  make(task);
  const absl::Status status = CheckTask(task);
  CHECK((status.ok() || absl::IsInvalidArgument(status)));
  return MessageOf(status);
}

void CheckFlaws(const std::vector<Flaw>& flaws) {
  for (const Flaw& flaw : flaws) {
    INFO("expected: " << flaw.complaint);
    CHECK_THAT(ComplaintOf(flaw.make), Catch::Contains(flaw.complaint));
  }
}

v1::Parameter& X(v1::Task& task) { return *task.mutable_parameters(0); }
v1::Data& DataOfX(v1::Task& task) { return *X(task).mutable_data(); }
v1::Case& First(v1::Task& task) { return *task.mutable_cases(0); }

}  // namespace

TEST_CASE("a sound task has no complaint") {
  CHECK(ComplaintOf([](v1::Task&) {}).empty());
}

TEST_CASE("names, description, tags and tolerance are checked") {
  CheckFlaws({
      {"name: \"Scale\"", [](v1::Task& task) { task.set_name("Scale"); }},
      {"name: \"\"", [](v1::Task& task) { task.clear_name(); }},
      {"name: \"a/../b\"", [](v1::Task& task) { task.set_name("a/../b"); }},
      {"name: ", [](v1::Task& task) { task.set_name(std::string(65, 'a')); }},
      {"description", [](v1::Task& task) { task.clear_description(); }},
      {"description: 65537 bytes", [](v1::Task& task) { task.set_description(std::string(65537, 'a')); }},
      {"tags: \"A b\"", [](v1::Task& task) { task.add_tags("A b"); }},
      {"tags: 33 entries",
       [](v1::Task& task) {
         while (task.tags_size() < 33) task.add_tags("a");
       }},
      {"tolerance.absolute", [](v1::Task& task) { task.mutable_tolerance()->set_absolute(-1); }},
      {"tolerance.absolute", [](v1::Task& task) { task.mutable_tolerance()->set_absolute(1.0 / 0.0); }},
      {"tolerance.relative", [](v1::Task& task) { task.mutable_tolerance()->set_relative(1); }},
      {"tolerance.relative",
       [](v1::Task& task) { task.mutable_tolerance()->set_relative(std::numeric_limits<double>::quiet_NaN()); }},
      {"launch: unknown", [](v1::Task& task) { task.set_launch(static_cast<v1::Task::LaunchPolicy>(9)); }},
  });
  CHECK(ComplaintOf([](v1::Task& task) { task.clear_tolerance(); }).empty());  // bit for bit
  CHECK(ComplaintOf([](v1::Task& task) { task.set_name(std::string(64, 'a')); }).empty());
}

TEST_CASE("instruction prefixes are checked") {
  CheckFlaws({
      {"required_instructions: \"\"", [](v1::Task& task) { task.add_required_instructions(""); }},
      {"required_instructions: \"wgmma *\"", [](v1::Task& task) { task.add_required_instructions("wgmma *"); }},
      {"forbidden_instructions: \".mma\"", [](v1::Task& task) { task.add_forbidden_instructions(".mma"); }},
      {"twice", [](v1::Task& task) { task.add_tags("a"), task.add_tags("a"); }},
      {"\"cp.async.bulk\" is forbidden by \"cp.\"",
       [](v1::Task& task) {
         task.add_required_instructions("cp.async.bulk");
         task.add_forbidden_instructions("cp.");
       }},
  });
  CHECK(ComplaintOf([](v1::Task& task) {
          task.add_required_instructions("wgmma.");
          task.add_forbidden_instructions("cp.async.bulk");
        }).empty());
}

TEST_CASE("parameters are checked") {
  CheckFlaws({
      {"parameters[0]: name: \"2x\"", [](v1::Task& task) { X(task).set_name("2x"); }},
      {"parameter y: the name is given twice", [](v1::Task& task) { X(task).set_name("y"); }},
      {"parameter x: type", [](v1::Task& task) { X(task).clear_type(); }},
      {"parameter x: type", [](v1::Task& task) { X(task).set_type(static_cast<v1::ElementType>(99)); }},
      {"parameter x: role", [](v1::Task& task) { X(task).clear_role(); }},
      {"parameter x: a buffer needs a shape", [](v1::Task& task) { X(task).clear_shape(); }},
      {"parameter x: shape: \"n +\"", [](v1::Task& task) { X(task).set_shape(0, "n +"); }},
      {"parameter x: shape: m is no size parameter", [](v1::Task& task) { X(task).set_shape(0, "m"); }},
      {"parameter x: shape: factor is no size", [](v1::Task& task) { X(task).set_shape(0, "factor"); }},
      {"parameter x: a shape of 9 extents",
       [](v1::Task& task) {
         while (X(task).shape_size() < 9) X(task).add_shape("1");
       }},
      {"parameter n: a size must have an integer type",
       [](v1::Task& task) { task.mutable_parameters(2)->set_type(v1::F32); }},
      {"parameter n: only buffers have a shape", [](v1::Task& task) { task.mutable_parameters(2)->add_shape("1"); }},
      {"parameter factor: only buffers have data", [](v1::Task& task) { task.mutable_parameters(3)->mutable_data(); }},
      {"parameter y: data is for input", [](v1::Task& task) { task.mutable_parameters(1)->mutable_data(); }},
      {"nothing to compute", [](v1::Task& task) { task.mutable_parameters(1)->set_role(v1::Parameter::INPUT); }},
      {"33 are more than the 32",
       [](v1::Task& task) {
         for (int i = 0; task.parameters_size() <= kParametersMax; ++i) {
           *task.add_parameters() = MakeParameter("p" + std::to_string(i), v1::F32, v1::Parameter::INPUT, "n");
         }
       }},
  });
  CHECK(ComplaintOf([](v1::Task& task) {
          for (int i = 0; task.parameters_size() < kParametersMax; ++i) {
            *task.add_parameters() = MakeParameter("p" + std::to_string(i), v1::F32, v1::Parameter::INPUT, "n");
          }
        }).empty());
}

TEST_CASE("every case needs every size and scalar, fitting its type, and no other") {
  CheckFlaws({
      {"cases[0] (the only case): sizes: n is missing",
       [](v1::Task& task) { First(task).clear_sizes(), First(task).clear_scalars(); }},
      {"cases[1] (one): scalars: factor is missing", [](v1::Task& task) { task.mutable_cases(1)->clear_scalars(); }},
      {"measure: sizes: n is missing", [](v1::Task& task) { task.mutable_measure()->clear_sizes(); }},
      {"measure_simulated: sizes: n is missing", [](v1::Task& task) { task.mutable_measure_simulated(); }},
      {"measure: it is missing", [](v1::Task& task) { task.clear_measure(); }},
      {"sizes: \"m\" is no such parameter", [](v1::Task& task) { (*First(task).mutable_sizes())["m"] = 1; }},
      {"sizes: \"factor\" is no such parameter", [](v1::Task& task) { (*First(task).mutable_sizes())["factor"] = 1; }},
      {"did you mean factor?", [](v1::Task& task) { (*First(task).mutable_scalars())["facter"] = 1; }},
      {"data: \"y\" is no such parameter", [](v1::Task& task) { (*First(task).mutable_data())["y"]; }},
      {"n is -1, below 0", [](v1::Task& task) { (*First(task).mutable_sizes())["n"] = -1; }},
      {"2147483648 does not fit into i32", [](v1::Task& task) { (*First(task).mutable_sizes())["n"] = 2147483648; }},
      {"does not fit into f32", [](v1::Task& task) { (*First(task).mutable_scalars())["factor"] = 1e300; }},
      {"not held out is needed", [](v1::Task& task) { First(task).set_held_out(true); }},
      {"not held out is needed", [](v1::Task& task) { task.clear_cases(); }},
      {"cannot be held out", [](v1::Task& task) { task.mutable_measure()->set_held_out(true); }},
      {"another case is called \"n=100\"", [](v1::Task& task) { *task.add_cases() = MakeCase(100, 1); }},
      {"65 are more than the 64",
       [](v1::Task& task) {
         while (task.cases_size() <= kCasesMax) task.add_cases();
       }},
  });
  CHECK(ComplaintOf([](v1::Task& task) {
          for (int n = 200; task.cases_size() < kCasesMax; ++n) *task.add_cases() = MakeCase(n, 1);
        }).empty());
}

TEST_CASE("shapes, data and work must come to something sensible in every case") {
  CheckFlaws({
      {"cases[0] (n=100): the shape of x", [](v1::Task& task) { X(task).set_shape(0, "n / (n - 100)"); }},
      {"negative extent -99", [](v1::Task& task) { X(task).set_shape(0, "n - 100"); }},
      {"does not fit in 64 bits",
       [](v1::Task& task) {
         for (int i = 0; i < 5; ++i) X(task).add_shape("n * n");
       }},
      {"more than the 34359738368 bytes", [](v1::Task& task) { X(task).add_shape("n"); }},
      {"measure: work", [](v1::Task& task) { task.mutable_work()->set_flops("n - 2000000"); }},
      {"measure: work", [](v1::Task& task) { task.mutable_work()->set_bytes("n * n * n * n"); }},
      {"work: m is no size", [](v1::Task& task) { task.mutable_work()->set_bytes("m"); }},
      {"high = -2 must be above low = -1", [](v1::Task& task) { DataOfX(task).set_high("-2"); }},
      {"m is no size parameter", [](v1::Task& task) { DataOfX(task).set_high("m"); }},
      {"standard_deviation = 0", [](v1::Task& task) { DataOfX(task).set_distribution(v1::Data::NORMAL); }},
      {"are for distribution: normal", [](v1::Task& task) { DataOfX(task).set_mean(1); }},
      {"a constant needs its value", [](v1::Task& task) { DataOfX(task).set_distribution(v1::Data::CONSTANT); }},
      {"256 does not fit into u8",
       [](v1::Task& task) {
         X(task).set_type(v1::U8);
         DataOfX(task).set_high("257");
       }},
      {"cases[1] (one): data of x",
       [](v1::Task& task) { (*task.mutable_cases(1)->mutable_data())["x"].set_high("-5"); }},
      {"cases[1] (one): data: x: mean",
       [](v1::Task& task) { (*task.mutable_cases(1)->mutable_data())["x"].set_mean(3); }},
  });
  CHECK(ComplaintOf([](v1::Task& task) {
          X(task).set_type(v1::I32);
          DataOfX(task).set_low("-128");
          DataOfX(task).set_high("n");
        }).empty());
}

TEST_CASE("the sources' launch lines must parse and resolve for every case") {
  CheckFlaws({
      {"oracle.cu: the trusted reference is missing", [](v1::Task& task) { task.clear_oracle_source(); }},
      {"baseline.cu: the kernel to beat is missing", [](v1::Task& task) { task.clear_baseline_source(); }},
      {"baseline.cu: line 1: launch: grid=(...) is missing",
       [](v1::Task& task) { task.set_baseline_source("// fsr: launch k block=(1)"); }},
      {"oracle.cu: for cases[1] (one): line 1: launch: grid.x is 0",
       [](v1::Task& task) { task.set_oracle_source("// fsr: launch k grid=(n / 2) block=(1)"); }},
      {"baseline.cu: for measure: line 1: launch: grid.y",
       [](v1::Task& task) { task.set_baseline_source("// fsr: launch k grid=(1, n) block=(1)"); }},
      {"tunable.cu: it has no", [](v1::Task& task) { task.set_tunable_source(kSmallSource); }},
      {"tunable.cu: line 2: launch: the task's launch is fixed",
       [](v1::Task& task) {
         task.set_launch(v1::Task::FIXED);
         task.set_tunable_source("// fsr: tune A = 1\n// fsr: launch other grid=(1) block=(A)");
       }},
      {"oracle.cu: it is not valid UTF-8", [](v1::Task& task) { task.set_oracle_source("\xff"); }},
      {"524289 bytes",
       [](v1::Task& task) { task.set_oracle_source(std::string(static_cast<size_t>(kSourceBytesMax) + 1, ' ')); }},
  });
}

TEST_CASE("every complaint has a line of its own") {
  const std::string complaint = ComplaintOf([](v1::Task& task) {
    task.clear_name();
    X(task).clear_type();
    First(task).clear_sizes();
  });
  CHECK(std::count(complaint.begin(), complaint.end(), '\n') >= 2);
}

TEST_CASE("a case is called by its name, or by its sizes") {
  v1::Case which = MakeCase(65, 2);
  (*which.mutable_sizes())["cols"] = 33;
  CHECK(NameOf(which) == "cols=33 n=65");
  which.set_name("odd");
  CHECK(NameOf(which) == "odd");
}

TEST_CASE("the hash of a task does not depend on the order of its maps, and on everything else") {
  v1::Task a = SmallTask(), b = SmallTask();
  for (int i = 0; i < 40; ++i) (*a.mutable_measure()->mutable_sizes())["s" + std::to_string(i)] = i;
  for (int i = 39; i >= 0; --i) (*b.mutable_measure()->mutable_sizes())["s" + std::to_string(i)] = i;
  CHECK(TaskHash(a) == TaskHash(b));
  (*b.mutable_measure()->mutable_sizes())["s7"] = 8;
  CHECK(TaskHash(a) != TaskHash(b));
  b = a;
  b.set_baseline_source(a.baseline_source() + " ");
  CHECK(TaskHash(a) != TaskHash(b));
  CHECK(TaskHash(a).size() == 64);
}

TEST_CASE("a task folder is loaded, and a missing file is named") {
  const fs::path folder = fs::temp_directory_path() / ("fsr_task_test_" + RandomHex(8));
  const auto missing = [&] { return LoadTask(folder).status(); };
  CHECK(absl::IsNotFound(missing()));
  CHECK_THAT(MessageOf(missing()), Catch::Contains("task.yaml"));
  REQUIRE(WriteFileAtomically(folder / "task.yaml", kSmallYaml).ok());
  CHECK_THAT(MessageOf(missing()), Catch::Contains("oracle.cu"));
  REQUIRE(WriteFileAtomically(folder / "oracle.cu", kSmallSource).ok());
  CHECK_THAT(MessageOf(missing()), Catch::Contains("baseline.cu"));
  REQUIRE(WriteFileAtomically(folder / "baseline.cu", kSmallSource).ok());
  const auto task = LoadTask(folder);
  REQUIRE(task.ok());
  CHECK(TaskHash(*task) == TaskHash(SmallTask()));
  REQUIRE(WriteFileAtomically(folder / "tunable.cu", "// fsr: tune T = 1\n" + std::string(kSmallSource)).ok());
  CHECK_FALSE(LoadTask(folder)->tunable_source().empty());
  REQUIRE(WriteFileAtomically(folder / "task.yaml", "name: a\nlanch: free\n").ok());
  CHECK_THAT(MessageOf(LoadTask(folder).status()), Catch::Contains(folder.string() + ": task.yaml:2: lanch"));
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

TEST_CASE("the tasks that come with the program are sound") {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(FSR_SOURCE_DIR) / "tasks")) {
    if (!entry.is_directory()) continue;
    const auto task = LoadTask(entry.path());
    INFO(entry.path().string() << ": " << MessageOf(task.status()));
    CHECK(task.ok());
    CHECK((!task.ok() || task->name() == entry.path().filename().string()));
    ++count;
  }
  CHECK(count > 0);
}

}  // namespace fsr
