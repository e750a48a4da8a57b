#include <catch2/catch.hpp>
#include <cstring>

#include "common/launch_plan.h"
#include "common/status.h"
#include "tests/common/task_fixture.h"

namespace fsr {
namespace {

using Kind = ResolvedArgument::Kind;

absl::StatusOr<ResolvedPlan> TryResolve(const std::string& lines, const v1::Task& task, int64_t n, double factor = 1) {
  const auto plan = ParseLaunchPlan(lines, task);
  INFO(MessageOf(plan.status()));
  REQUIRE(plan.ok());
  return Resolve(*plan, task, MakeCase(n, factor));
}

std::string Complaint(const std::string& lines, int64_t n) {
  const absl::Status status = TryResolve(lines, SmallTask(), n).status();
  CHECK((status.ok() || absl::IsInvalidArgument(status)));
  return MessageOf(status);
}

template <typename T>
T As(const ResolvedArgument& argument) {
  REQUIRE(argument.kind == Kind::kValue);
  REQUIRE(argument.bytes.size() == sizeof(T));
  T value;
  std::memcpy(&value, argument.bytes.data(), sizeof(T));
  return value;
}

std::array<uint32_t, 3> Dims(uint32_t x, uint32_t y, uint32_t z) { return {x, y, z}; }

}  // namespace

TEST_CASE("a plan without args passes all parameters in order, values in their declared types") {
  const auto plan = TryResolve(kSmallSource, SmallTask(), 1000, 2.5);
  REQUIRE(plan.ok());
  REQUIRE(plan->buffers.size() == 2);
  CHECK(plan->buffers[0].name == "x");
  CHECK(plan->buffers[0].shape == std::vector<int64_t>{1000});
  CHECK(plan->buffers[1].bytes == 4000);
  CHECK(plan->buffers[1].role == v1::Parameter::OUTPUT);
  REQUIRE(plan->launches.size() == 1);
  const ResolvedLaunch& launch = plan->launches[0];
  CHECK(launch.grid == Dims(4, 1, 1));
  CHECK(launch.block == Dims(256, 1, 1));
  CHECK(launch.cluster == Dims(1, 1, 1));
  CHECK(launch.shared_bytes == 0);
  CHECK(launch.line == 1);
  REQUIRE(launch.arguments.size() == 4);
  CHECK(launch.arguments[0].kind == Kind::kBuffer);
  CHECK(launch.arguments[0].index == 0);
  CHECK(launch.arguments[1].index == 1);
  CHECK(As<int32_t>(launch.arguments[2]) == 1000);
  CHECK(As<float>(launch.arguments[3]) == 2.5f);
}

TEST_CASE("args may be parameters, scratch, tensor maps, and expressions of sizes and tunables as i32") {
  const auto plan = TryResolve(
      "// fsr: tune TILE = 32, 64\n"
      "// fsr: scratch part f64[ceil_div(n, TILE)]\n"
      "// fsr: fill part 7\n"
      "// fsr: tensor_map map_y = y dims=(n) box=(TILE) swizzle=128B\n"
      "// fsr: launch k grid=(1, ceil_div(n, TILE)) block=(TILE) shared=TILE*4 args=(part, map_y, TILE, n * 2, x, n)",
      SmallTask(), 100);
  INFO(MessageOf(plan.status()));
  REQUIRE(plan.ok());
  REQUIRE(plan->buffers.size() == 3);
  CHECK(plan->buffers[2].name == "part");
  CHECK(plan->buffers[2].element_count == 4);
  CHECK(plan->buffers[2].bytes == 32);
  CHECK(plan->buffers[2].role == v1::Parameter::ROLE_UNSPECIFIED);
  REQUIRE(plan->fills.size() == 1);
  CHECK(plan->fills[0].buffer == 2);
  CHECK(plan->fills[0].byte == 7);
  REQUIRE(plan->tensor_maps.size() == 1);
  CHECK(plan->tensor_maps[0].buffer == 1);
  CHECK(plan->tensor_maps[0].dims == std::vector<int64_t>{100});
  CHECK(plan->tensor_maps[0].box == std::vector<int64_t>{32});
  const ResolvedLaunch& launch = plan->launches[0];
  CHECK(launch.grid == Dims(1, 4, 1));
  CHECK(launch.shared_bytes == 128);
  REQUIRE(launch.arguments.size() == 6);
  CHECK(launch.arguments[0].kind == Kind::kBuffer);
  CHECK(launch.arguments[0].index == 2);
  CHECK(launch.arguments[1].kind == Kind::kTensorMap);
  CHECK(launch.arguments[1].index == 0);
  CHECK(As<int32_t>(launch.arguments[2]) == 32);
  CHECK(As<int32_t>(launch.arguments[3]) == 200);
  CHECK(launch.arguments[4].index == 0);
  CHECK(As<int32_t>(launch.arguments[5]) == 100);
}

TEST_CASE("a pinned tunable changes the launch") {
  const std::string source = "// fsr: tune T = 32, 64\n// fsr: launch k grid=(ceil_div(n, T)) block=(T)";
  const auto pinned = PinTunables(source, {{"T", 64}});
  REQUIRE(pinned.ok());
  CHECK(TryResolve(source, SmallTask(), 100)->launches[0].grid == Dims(4, 1, 1));
  CHECK(TryResolve(*pinned, SmallTask(), 100)->launches[0].grid == Dims(2, 1, 1));
}

TEST_CASE("values go by value in every declared type") {
  v1::Task task = SmallTask();
  const auto argument = [&](v1::ElementType size_type, v1::ElementType scalar_type, int64_t n, double factor) {
    task.mutable_parameters(2)->set_type(size_type);
    task.mutable_parameters(3)->set_type(scalar_type);
    return TryResolve("// fsr: launch k grid=(1) block=(1)", task, n, factor);
  };
  CHECK(As<int64_t>(argument(v1::I64, v1::F64, 123456, 0.1)->launches[0].arguments[2]) == 123456);
  CHECK(As<double>(argument(v1::I64, v1::F64, 1, 0.1)->launches[0].arguments[3]) == 0.1);
  CHECK(As<uint8_t>(argument(v1::U8, v1::F64, 255, 0)->launches[0].arguments[2]) == 255);
  CHECK(As<uint16_t>(argument(v1::U8, v1::F16, 1, 1)->launches[0].arguments[3]) == 0x3c00);
  CHECK(As<int32_t>(argument(v1::U8, v1::I32, 1, -7)->launches[0].arguments[3]) == -7);
  CHECK_THAT(MessageOf(argument(v1::U8, v1::I32, 256, 0).status()), Catch::Contains("256 does not fit into u8"));
  CHECK_THAT(MessageOf(argument(v1::I32, v1::I32, 1, 0.5).status()), Catch::Contains("0.5 does not fit into i32"));
  CHECK_THAT(MessageOf(argument(v1::I32, v1::F16, 1, 1e6).status()), Catch::Contains("does not fit into f16"));
  CHECK_THAT(MessageOf(argument(v1::I32, v1::U32, 1, -1).status()), Catch::Contains("does not fit into u32"));
}

TEST_CASE("what no device can launch is refused, with the line and the value") {
  CHECK_THAT(Complaint("\n// fsr: launch k grid=(n) block=(1)", 0),
             Catch::StartsWith("line 2: launch: grid.x is 0") && Catch::Contains("from 1"));
  CHECK_THAT(Complaint("// fsr: launch k grid=(1, n) block=(1)", 65536), Catch::Contains("grid.y is 65536"));
  CHECK(Complaint("// fsr: launch k grid=(2147483647, 65535, 65535) block=(1024)", 1).empty());
  CHECK_THAT(Complaint("// fsr: launch k grid=(2147483648) block=(1)", 1), Catch::Contains("grid.x"));
  CHECK_THAT(Complaint("// fsr: launch k grid=(1) block=(n)", 1025), Catch::Contains("block.x is 1025"));
  CHECK_THAT(Complaint("// fsr: launch k grid=(1) block=(1, 1, 65)", 1), Catch::Contains("block.z is 65"));
  CHECK_THAT(Complaint("// fsr: launch k grid=(1) block=(33, 32)", 1), Catch::Contains("1056 threads"));
  CHECK(Complaint("// fsr: launch k grid=(1) block=(32, 32)", 1).empty());
  CHECK_THAT(Complaint("// fsr: launch k grid=(n - 5) block=(1)", 1), Catch::Contains("grid.x is -4"));
  CHECK_THAT(Complaint("// fsr: launch k grid=(1) block=(1) shared=n-5", 1), Catch::Contains("shared is -4"));
  CHECK_THAT(Complaint("// fsr: launch k grid=(1 / n) block=(1)", 0), Catch::Contains("by zero"));
  CHECK_THAT(Complaint("// fsr: launch k grid=(3) block=(1) cluster=(2)", 1),
             Catch::Contains("no multiple of cluster.x"));
  CHECK_THAT(Complaint("// fsr: launch k grid=(32) block=(1) cluster=(16, 2)", 1), Catch::Contains("cluster"));
  CHECK(Complaint("// fsr: launch k grid=(32) block=(1) cluster=(16)", 1).empty());
  CHECK_THAT(Complaint("// fsr: launch k grid=(1) block=(1) args=(n * n)", 65536),
             Catch::Contains("does not fit into i32"));
}

TEST_CASE("buffers have a limit in bytes, and the limit itself is allowed") {
  const int64_t count_max = kBufferBytesMax / 8;
  const std::string lines = "// fsr: scratch s f64[n * 4096]\n// fsr: launch k grid=(1) block=(1)";
  const auto most = TryResolve(lines, SmallTask(), count_max / 4096);
  REQUIRE(most.ok());
  CHECK(most->buffers[2].bytes == kBufferBytesMax);
  CHECK_THAT(Complaint(lines, count_max / 4096 + 1),
             Catch::StartsWith("line 1: scratch:") && Catch::Contains("bytes allowed"));
  CHECK_THAT(Complaint("// fsr: scratch s f64[n - 2]\n// fsr: launch k grid=(1) block=(1)", 1),
             Catch::Contains("s is -1"));
  v1::Task task = SmallTask();
  for (int i = 0; i < 6; ++i) task.mutable_parameters(0)->add_shape(std::string("n"));
  CHECK_THAT(MessageOf(TryResolve("// fsr: launch k grid=(1) block=(1)", task, 1000000).status()),
             Catch::Contains("elements of x does not fit in 64 bits"));
}

TEST_CASE("tensor maps keep the hardware's rules") {
  const auto complaint = [](const std::string& rest, int64_t n) {
    return Complaint("// fsr: tensor_map t = x " + rest + "\n// fsr: launch k grid=(1) block=(1) args=(t)", n);
  };
  CHECK(complaint("dims=(64, n / 64) box=(32, 8) swizzle=128B", 640).empty());
  CHECK_THAT(complaint("dims=(n + 1) box=(64)", 640), Catch::Contains("more than the 640 elements of x"));
  CHECK_THAT(complaint("dims=(n) box=(257)", 640), Catch::Contains("box[0] is 257"));
  CHECK_THAT(complaint("dims=(n) box=(3)", 640), Catch::Contains("12 bytes"));
  CHECK_THAT(complaint("dims=(5, 8) box=(4, 4)", 640), Catch::Contains("stride of dims[1] is 20 bytes"));
  CHECK_THAT(complaint("dims=(64, 8) box=(64, 8) swizzle=128B", 640),
             Catch::Contains("256 bytes, more than swizzle=128B"));
  CHECK(complaint("dims=(64, 8) box=(8, 8) swizzle=32B", 640).empty());
  CHECK_THAT(complaint("dims=(64, 8) box=(16, 8) swizzle=32B", 640), Catch::Contains("swizzle=32B"));
  CHECK_THAT(complaint("dims=(n) box=(4)", 0), Catch::Contains("dims[0] is 0"));
}

TEST_CASE("a case that lacks a size or a scalar is told") {
  const auto plan = ParseLaunchPlan(kSmallSource, SmallTask());
  v1::Case which = MakeCase(1, 1);
  which.mutable_sizes()->clear();
  CHECK_THAT(MessageOf(Resolve(*plan, SmallTask(), which).status()), Catch::Contains("size n"));
  which = MakeCase(1, 1);
  which.mutable_scalars()->clear();
  CHECK_THAT(MessageOf(Resolve(*plan, SmallTask(), which).status()), Catch::Contains("argument factor"));
}

}  // namespace fsr
