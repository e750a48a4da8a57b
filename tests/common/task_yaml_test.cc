#include <catch2/catch.hpp>
#include <cmath>

#include "common/status.h"
#include "common/task_loader.h"
#include "common/yaml_to_proto.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/common/task_fixture.h"

namespace fsr {
namespace {

std::string Complaint(const std::string& yaml) {
  const absl::Status status = ParseTaskYaml(yaml).status();
  CHECK((status.ok() || absl::IsInvalidArgument(status)));
  return MessageOf(status);
}

v1::Task Parse(const std::string& yaml) {
  auto task = ParseTaskYaml(yaml);
  INFO(MessageOf(task.status()));
  REQUIRE(task.ok());
  return *std::move(task);
}

}  // namespace

TEST_CASE("the fields of task.yaml are the fields of Task") {
  v1::Task expected = SmallTask();
  expected.clear_oracle_source();
  expected.clear_baseline_source();
  CHECK(google::protobuf::util::MessageDifferencer::Equals(Parse(kSmallYaml), expected));
}

TEST_CASE("every kind of value is read") {
  const v1::Task task = Parse(R"y(
name: "quoted"
launch: fixed
tags: [a, b]
required_instructions: ["wgmma."]
parameters:
  - name: x
    type: bf16
    role: inout
    shape: [n, 4, "ceil_div(n, 2)"]
    data: {distribution: normal, mean: -1, standard_deviation: 2.5e-1}
cases:
  - sizes: {n: -9223372036854775808}
    scalars: {a: .inf, b: -.inf, c: .nan, d: 1e-3, e: -7}
    held_out: true
    data:
      x: {distribution: constant, low: 3}
measure_simulated: {name: small}
)y");
  CHECK(task.name() == "quoted");
  CHECK(task.launch() == v1::Task::FIXED);
  CHECK(task.tags_size() == 2);
  CHECK(task.parameters(0).type() == v1::BF16);
  CHECK(task.parameters(0).role() == v1::Parameter::INOUT);
  CHECK(task.parameters(0).shape(1) == "4");
  CHECK(task.parameters(0).data().standard_deviation() == 0.25);
  CHECK(task.cases(0).sizes().at("n") == std::numeric_limits<int64_t>::min());
  CHECK(std::isinf(task.cases(0).scalars().at("a")));
  CHECK(task.cases(0).scalars().at("b") < 0);
  CHECK(std::isnan(task.cases(0).scalars().at("c")));
  CHECK(task.cases(0).scalars().at("d") == 0.001);
  CHECK(task.cases(0).scalars().at("e") == -7);
  CHECK(task.cases(0).held_out());
  CHECK(task.cases(0).data().at("x").low() == "3");
  CHECK(task.has_measure_simulated());
  CHECK_FALSE(task.has_measure());
}

TEST_CASE("a misspelt field names its line and the field that was probably meant") {
  CHECK_THAT(Complaint("name: a\ntolerence: {absolute: 1}\n"),
             Catch::StartsWith("task.yaml:2: tolerence: ") && Catch::Contains("did you mean tolerance?"));
  CHECK_THAT(Complaint("name: a\nparameters:\n  - {name: x, type: f32}\n  - {name: y,\n     shpae: [n]}\n"),
             Catch::StartsWith("task.yaml:5: parameters[1].shpae: ") && Catch::Contains("did you mean shape?"));
  CHECK_THAT(Complaint("cases:\n  - size: {n: 1}"), Catch::Contains("cases[0].size: ") && Catch::Contains("sizes?"));
  CHECK_THAT(Complaint("zzz: 1"), Catch::Equals("task.yaml:1: zzz: there is no such field"));
}

TEST_CASE("a field or a key that is given twice is an error") {
  CHECK_THAT(Complaint("name: a\nname: b\n"), Catch::Equals("task.yaml:2: name: is given twice"));
  CHECK_THAT(Complaint("measure: {sizes: {n: 1, n: 2}}"), Catch::Contains("measure.sizes.n: is given twice"));
}

TEST_CASE("an unknown enum value is told with the known ones") {
  CHECK_THAT(Complaint("parameters: [{type: f23}]"),
             Catch::Contains("parameters[0].type: \"f23\" is not one of f16, bf16, f32") &&
                 Catch::Contains("did you mean f32?"));
  CHECK_THAT(Complaint("parameters: [{type: F32}]"), Catch::Contains("did you mean f32?"));
  CHECK_THAT(Complaint("parameters: [{role: 1}]"), Catch::Contains("not one of input, output"));
  CHECK_THAT(Complaint("launch: launch_policy_unspecified"), Catch::Contains("not one of free, fixed"));
}

TEST_CASE("a value of the wrong type is an error") {
  for (const char* wrong : {"name: [a]",
                            "name: {a: b}",
                            "parameters: {name: x}",
                            "parameters: x",
                            "parameters: [x]",
                            "tolerance: 1e-5",
                            "tolerance: [1]",
                            "tolerance: {absolute: small}",
                            "tolerance: {absolute: \"1\"}",
                            "tolerance: {absolute: 1 2}",
                            "cases: [{sizes: [1]}]",
                            "cases: [{sizes: {n: 1.5}}]",
                            "cases: [{sizes: {n: 1e3}}]",
                            "cases: [{sizes: {n: '1'}}]",
                            "cases: [{sizes: {n: 9223372036854775808}}]",
                            "cases: [{sizes: {n: 0x10}}]",
                            "cases: [{sizes: {n: }}]",
                            "cases: [{sizes: {n: {m: 1}}}]",
                            "cases: [{held_out: yes}]",
                            "cases: [{held_out: 1}]",
                            "cases: [{data: {x: 1}}]",
                            "tags: one",
                            "tags: [[a]]",
                            "name:",
                            "parameters:",
                            "measure: ~",
                            "{[a]: b}",
                            "- name",
                            "name",
                            "launch: [free]",
                            "cases: [{scalars: {a: !!str 1}}]"}) {
    INFO(wrong);
    CHECK_THAT(Complaint(wrong), Catch::StartsWith("task.yaml:1: "));
  }
}

TEST_CASE("sources do not stand in task.yaml") {
  CHECK_THAT(Complaint("oracle_source: x"), Catch::Contains("oracle.cu"));
  CHECK_THAT(Complaint("tunable_source: x"), Catch::Contains("tunable.cu"));
}

TEST_CASE("everything that is wrong is told at once") {
  const std::string complaint = Complaint("nmae: a\nlaunch: fre\ntags: x\n");
  CHECK_THAT(complaint,
             Catch::Contains("task.yaml:1:") && Catch::Contains("task.yaml:2:") && Catch::Contains("task.yaml:3:"));
}

TEST_CASE("text that is no YAML, or too much of it, is refused with its line") {
  CHECK_THAT(Complaint(""), Catch::Contains("empty"));
  CHECK_THAT(Complaint("# nothing\n"), Catch::Contains("empty"));
  CHECK_THAT(Complaint("name: a\ncases: [\n"), Catch::StartsWith("task.yaml:"));
  CHECK_THAT(Complaint("name: a\ntags: }\n"), Catch::StartsWith("task.yaml:2"));
  CHECK_THAT(Complaint("name: *nowhere\n"), Catch::StartsWith("task.yaml:1"));
  CHECK_THAT(Complaint("name: a\n---\nname: b\n"), Catch::Contains("second document"));
  CHECK(Complaint("# a comment\n---\nname: a\n").empty());
  CHECK(Complaint("name: a\ndescription: |\n  ---\n  text\n").empty());
  Complaint(",tune %cases/*");  // makes yaml-cpp's LoadAll return empty documents for ever
  CHECK_THAT(Complaint("name: \xff\n"), Catch::Contains("UTF-8"));
  CHECK_THAT(Complaint(std::string(100'000, '[')), Catch::Contains("too deep"));
  CHECK_THAT(Complaint(std::string(100'000, '{')), Catch::Contains("too deep"));
  std::string full = "name: a\n#";
  full.resize(kTaskYamlBytesMax, 'x');
  CHECK(Complaint(full).empty());
  CHECK_THAT(Complaint(full + "x"), Catch::Contains("262145 bytes"));
}

TEST_CASE("aliases cannot make a short text long") {
  std::string yaml = "tags: &t [a";
  for (int i = 0; i < 999; ++i) yaml += ", a";
  yaml += "]\nparameters:\n";
  for (int i = 0; i < 60; ++i) yaml += "  - {shape: *t}\n";
  CHECK_THAT(Complaint(yaml), Catch::Contains("more than 50000 values"));
}

}  // namespace fsr
